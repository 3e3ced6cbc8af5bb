"""Texts to unit vectors: the model in the package, any sentence-transformers model, or an embeddings endpoint.

Only this file loads onnxruntime, tokenizers and sentence-transformers, each on first use. Nothing is loaded when an
encoder is made: the first `encode` does it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyact_server.errors import EncoderError
from anyact_server.interfaces import Encoder
from anyact_server.settings import Settings

from .endpoint import EndpointEncoder
from .vectors import unit

Floats = NDArray[np.float32]
MODEL = Path(__file__).parent / "model"
"""The folder of the model that the package ships."""
BATCH = 32
"""Texts per run of the model; larger ones gain nothing on one thread."""


class OnnxEncoder:
    """A model folder with `encoder.onnx`, `tokenizer.json` and `card.json`, run by onnxruntime.

    Args:
        folder: the model folder.
        threads: threads of onnxruntime.
    """

    def __init__(self, folder: Path = MODEL, threads: int = 1) -> None:
        try:
            card = json.loads((folder / "card.json").read_text(encoding="utf-8"))
            self.dimension = int(card["dimension"])
            self.digest = f"onnx:{card['encoder_sha256']}:{card['tokenizer_sha256'][:16]}:{card['max_tokens']}"
            self._max_tokens = int(card["max_tokens"])
        except (OSError, ValueError, KeyError) as error:
            raise EncoderError(
                f"the model folder {folder} cannot be used: {error}",
                hint="Reinstall the package, or make the folder with scripts/export-encoder.",
            ) from error
        self._folder = folder
        self._threads = threads
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None

    def load(self) -> None:
        """Load model and tokenizer now (about 0.2 s) instead of at the first text."""
        self._parts()

    def encode(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        """Unit vectors of shape (len(texts), dimension); texts are cut at the model's `max_tokens`."""
        tokenizer, session = self._parts()
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        tokens = [tokenizer.encode(text) for text in texts]
        by_length = sorted(range(len(texts)), key=lambda at: len(tokens[at].ids))
        for first in range(0, len(texts), BATCH):
            rows = by_length[first : first + BATCH]
            width = len(tokens[rows[-1]].ids)
            ids = np.zeros((len(rows), width), np.int64)
            mask = np.zeros((len(rows), width), np.int64)
            for line, row in enumerate(rows):
                own = tokens[row].ids
                ids[line, : len(own)] = own
                mask[line, : len(own)] = 1
            vectors[rows] = session.run(None, {"input_ids": ids, "attention_mask": mask})[0]
        return vectors

    def _parts(self) -> tuple[Any, Any]:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> tuple[Any, Any]:
        import onnxruntime
        import tokenizers

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            tokenizer = tokenizers.Tokenizer.from_file(str(self._folder / "tokenizer.json"))
            session = onnxruntime.InferenceSession(
                str(self._folder / "encoder.onnx"), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # both libraries raise a bare Exception for a file they cannot read
            raise EncoderError(
                f"the model in {self._folder} cannot be loaded: {error}", hint="Reinstall the package."
            ) from error
        tokenizer.enable_truncation(self._max_tokens)
        tokenizer.no_padding()
        return tokenizer, session


class SentenceTransformersEncoder:
    """Any sentence-transformers model by name or folder; needs the extra `anyact-server[st]`.

    The digest is known once the model is loaded; a model whose files change under one name gets another digest.
    """

    def __init__(self, name: str, threads: int = 1) -> None:
        self._name = name
        self._threads = threads
        self._lock = threading.Lock()
        self._model: Any = None
        self._facts: tuple[int, str] | None = None

    @property
    def dimension(self) -> int:
        """Length of a vector; loads the model."""
        return self._known()[0]

    @property
    def digest(self) -> str:
        """Name and weights; loads the model."""
        return self._known()[1]

    def encode(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        """Unit vectors of shape (len(texts), dimension), with the model's own prompt for questions or documents."""
        self._known()
        turn = self._model.encode_query if query else self._model.encode_document
        found = turn(list(texts), batch_size=BATCH, show_progress_bar=False, convert_to_numpy=True)
        return unit(np.asarray(found, np.float32), len(texts), self.dimension)

    def _known(self) -> tuple[int, str]:
        with self._lock:
            if self._facts is None:
                self._model, self._facts = self._load()
            return self._facts

    def _load(self) -> tuple[Any, tuple[int, str]]:
        try:
            import sentence_transformers
            import torch
        except ImportError as error:
            raise EncoderError(
                f"the encoder {self._name!r} needs sentence-transformers, which is not installed",
                hint="Install anyact-server[st], or set the encoder to builtin.",
            ) from error
        torch.set_num_threads(self._threads)
        try:
            model = self._open(sentence_transformers)
        except (OSError, ValueError, RuntimeError) as error:
            raise EncoderError(
                f"the sentence-transformers model {self._name!r} cannot be loaded: {error}",
                hint="Check its name, or give the path of a model folder.",
            ) from error
        dimension = int(model.get_embedding_dimension())
        weights = sha256()
        for name, tensor in model.state_dict().items():
            weights.update(name.encode())
            weights.update(tensor.detach().float().flatten()[:64].cpu().numpy().tobytes())
        return model, (dimension, f"st:{self._name}:{weights.hexdigest()}")

    def _open(self, library: Any) -> Any:
        """The model from this machine, and only when it is not here from the model hub."""
        with suppress(OSError, ValueError):
            return library.SentenceTransformer(self._name, device="cpu", local_files_only=True)
        return library.SentenceTransformer(self._name, device="cpu")


class UnusableEncoder:
    """Stands for an encoder that cannot be made: every text is refused with the reason, so that words are searched."""

    dimension = 0
    digest = ""

    def __init__(self, error: EncoderError) -> None:
        self._error = error

    def encode(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        """Raise the reason."""
        raise EncoderError(self._error.message, hint=self._error.hint)


def load(settings: Settings) -> Encoder | None:
    """The encoder that the settings name, not loaded yet; None when it is switched off.

    A setting of the form `https://host/v1/embeddings#model` is an OpenAI-compatible endpoint. A model in the package
    that is missing or damaged gives an encoder that refuses every text with the reason.
    """
    chosen = settings.encoder.strip()
    if chosen.lower() in ("off", "none", ""):
        return None
    if chosen == "builtin":
        return builtin(MODEL, settings.encoder_threads)
    if chosen.startswith(("http://", "https://")):
        key = settings.encoder_key.get_secret_value() if settings.encoder_key else None
        return EndpointEncoder(chosen, key=key)
    return SentenceTransformersEncoder(chosen, threads=settings.encoder_threads)


def builtin(folder: Path, threads: int = 1) -> Encoder:
    """The model of a folder; where it cannot be used, an encoder that says why."""
    try:
        return OnnxEncoder(folder, threads)
    except EncoderError as error:
        return UnusableEncoder(error)
