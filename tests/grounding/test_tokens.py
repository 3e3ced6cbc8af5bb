"""The token estimate against exact cl100k counts."""

from __future__ import annotations

import json
import statistics
import warnings
from pathlib import Path

import pytest

from anyact_server.grounding import estimate
from anyact_server.grounding.tokens import of_picture

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of the way the package reads its own data
    import bpe_openai

ENCODING = bpe_openai.get_encoding("cl100k_base")
SOURCES = sorted(Path(__file__).parent.glob("test_*.py"))


def exact(text: str) -> int:
    return len(ENCODING.encode(text))


def samples() -> list[str]:
    """Source text, JSON with and without indent, logs and prose."""
    code = [file.read_text(encoding="utf-8")[:3000] for file in SOURCES]
    rows = [{"id": i, "name": f"item {i}", "at": f"2026-03-0{i % 9}T10:00:00Z", "price": i * 1.25} for i in range(30)]
    logs = "\n".join(f"2026-12-01 10:{i % 60:02d}:07 INFO worker[{i}] GET /api/v1/items/{i} 200" for i in range(60))
    prose = "The deploy failed because the index was locked; it was repeated an hour later and went through. " * 9
    return [*code, json.dumps(rows), json.dumps(rows, indent=2), logs, prose]


def test_an_estimate_is_within_a_tenth_of_the_exact_count() -> None:
    """Median error under 5 %, none over 20 %, on texts of the kinds that tools return."""
    errors = [abs(estimate(text) - exact(text)) / exact(text) for text in samples()]
    assert statistics.median(errors) < 0.05
    assert max(errors) < 0.2


def test_a_long_text_is_estimated_from_samples() -> None:
    """Above 20 KB the estimate stays within a tenth."""
    text = "\n".join(samples()) * 3
    assert len(text) > 60_000
    assert abs(estimate(text) - exact(text)) / exact(text) < 0.1


@pytest.mark.parametrize(
    "text",
    [
        "Привет, мир. Это проверочный текст для оценки количества токенов. " * 5,
        "你好，世界。这是一个测试文本，用于估计令牌数量。" * 10,
        "これはテストです。トークン数を推定します。" * 10,
        "Größe über alles, schöne Grüße aus München und Köln. " * 8,
        "안녕하세요 이것은 토큰 수를 추정하는 테스트입니다. " * 8,
    ],
)
def test_other_scripts_are_estimated_too(text: str) -> None:
    """Within a third for scripts outside ASCII."""
    assert abs(estimate(text) - exact(text)) / exact(text) < 0.34


@pytest.mark.parametrize(
    "text", ["HTTP_STATUS_CODE", "getElementById", "internationalization", "=====", "x", "→ ✓ ☃", "   ", "\n\n\n"]
)
def test_short_pieces_cost_at_least_one(text: str) -> None:
    """Nothing that is there is free."""
    assert 1 <= estimate(text) <= exact(text) * 4 + 3


def test_an_empty_text_costs_nothing() -> None:
    """Zero tokens for the empty text."""
    assert estimate("") == 0


def test_a_picture_costs_its_patches() -> None:
    """One token for every started patch of 28 pixels each way."""
    assert of_picture(1280, 800) == 46 * 29
    assert of_picture(1, 1) == 1
