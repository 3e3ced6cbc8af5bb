"""REST under a fuzzer that is driven by its own description, before real rooms on a real port."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from anyio.from_thread import start_blocking_portal
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.core.result import Ok

from anyact_server.access import Rules
from anyact_server.gateway.openapi import document
from tests.dispatch.whole import inside

from .web import rooms, served, web_app

SCHEMA = schemathesis.openapi.from_dict(document("test"))
OPERATIONS = {found.ok().label: found.ok() for found in SCHEMA.get_all_operations() if isinstance(found, Ok)}
SPOILABLE = [label for label, found in OPERATIONS.items() if found.body or found.query]
"""Operations whose requests can be of a wrong form; any text is a path."""
EXAMPLES = 5
REAL = {"id": "plain__echo", "name": "plain"}
"""What half of the requests put into the path, so that they come further than the router."""


@asynccontextmanager
async def _serving(home: Path) -> AsyncIterator[str]:
    rules = Rules(deny=["*__die", "*__slow", "*__append"])
    async with rooms(home, inside("plain"), policy=rules) as parts, served(web_app(parts)) as url:
        yield url


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of AnyAct over real rooms."""
    with start_blocking_portal() as portal:
        home = tmp_path_factory.mktemp("home")
        with portal.wrap_async_context_manager(_serving(home)) as url:
            yield url


def _fuzz(address: str, label: str, mode: GenerationMode) -> None:
    seen: list[int] = []

    @given(case=OPERATIONS[label].as_strategy(generation_mode=mode))
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def fuzz(case: Case[Any]) -> None:
        seen.append(len(seen))
        if len(seen) % 2 and not label.endswith("/call"):
            case.path_parameters = {name: REAL.get(name, value) for name, value in case.path_parameters.items()}
        case.call_and_validate(base_url=address, timeout=20)

    fuzz()


@pytest.mark.case("O7")
@pytest.mark.parametrize("label", list(OPERATIONS))
def test_every_answer_is_as_described_and_none_is_a_server_error(address: str, label: str) -> None:
    """For requests of the right form."""
    _fuzz(address, label, GenerationMode.POSITIVE)


@pytest.mark.case("O7")
@pytest.mark.parametrize("label", SPOILABLE)
def test_no_request_of_a_wrong_form_is_taken(address: str, label: str) -> None:
    """Each is refused with an answer that is described."""
    _fuzz(address, label, GenerationMode.NEGATIVE)
