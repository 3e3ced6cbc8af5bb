"""A stand-in for the libraries of the extra `st`."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest

LIBRARY = """
    import numpy
    import torch

    class SentenceTransformer:
        def __init__(self, name, device, local_files_only=False):
            if name == "missing" or (name == "remote" and local_files_only):
                raise OSError(f"{name} is not here")
            self.name = name

        def get_embedding_dimension(self):
            return 3

        def state_dict(self):
            return {"weight": torch.Tensor(self.name)}

        def encode_query(self, texts, **options):
            return numpy.array([[2.0, 0.0, 0.0]] * len(texts))

        def encode_document(self, texts, **options):
            return numpy.array([[0.0, 2.0, 0.0]] * len(texts))
"""
TORCH = """
    import numpy

    threads = []
    set_num_threads = threads.append

    class Tensor:
        def __init__(self, name):
            self.values = numpy.frombuffer(name.encode(), "u1").astype("f4")

        def __getattr__(self, step):
            return lambda: self if step != "numpy" else self.values

        def __getitem__(self, part):
            return self
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for the two libraries of the extra, which a plain installation does not have."""
    (tmp_path / "sentence_transformers.py").write_text(textwrap.dedent(LIBRARY), encoding="utf-8")
    (tmp_path / "torch.py").write_text(textwrap.dedent(TORCH), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("sentence_transformers", "torch"):
        monkeypatch.delitem(sys.modules, name, raising=False)
