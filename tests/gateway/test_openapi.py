"""The description of REST."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from anyact_server.gateway.openapi import ALWAYS, STATUSES, document
from anyact_server.gateway.rest import places
from anyact_server.types import KINDS

DOCUMENT = document("1.2.3")
DOCS = Path(__file__).resolve().parents[2] / "docs" / "rest.md"


def test_every_route_and_method_is_described_and_nothing_else() -> None:
    """The code's own table and the document name the same."""
    real = {(place.path, method.lower()) for place in places() for method in place.by}
    told = {(path, method) for path, methods in DOCUMENT["paths"].items() for method in methods}
    assert told == real


def test_every_operation_has_a_name_and_every_path_its_parameter() -> None:
    """Generators of clients need both."""
    names = [operation["operationId"] for methods in DOCUMENT["paths"].values() for operation in methods.values()]
    assert len(names) == len(set(names))
    for path, methods in DOCUMENT["paths"].items():
        wanted = set(re.findall(r"\{(\w+)\}", path))
        for operation in methods.values():
            assert {p["name"] for p in operation.get("parameters", ()) if p["in"] == "path"} == wanted


@pytest.mark.case("O7")
def test_every_status_that_a_kind_has_is_described() -> None:
    """With its meaning, and by the routes that call actions."""
    statuses = {str(facts.status) for facts in KINDS.values() if facts.status >= 400}
    assert statuses <= STATUSES.keys()
    for path in ("/v1/call", "/v1/query", "/v1/actions/{id}/call"):
        assert statuses <= DOCUMENT["paths"][path]["post"]["responses"].keys()
    for methods in DOCUMENT["paths"].values():
        for operation in methods.values():
            assert {"200", *ALWAYS} <= operation["responses"].keys()


def test_the_document_is_plain_json_of_its_version() -> None:
    """With the security scheme."""
    again = json.loads(json.dumps(DOCUMENT))
    assert again["openapi"] == "3.1.0" and again["info"]["version"] == "1.2.3"
    assert again["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"


@pytest.mark.case("O7")
def test_the_published_table_of_kinds_is_the_one_in_use() -> None:
    """Every kind stands in docs/rest.md with its status, whose fault it is, and when to try again."""
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| (\w+) \| (\w+) \|", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    told = {kind: (int(status), fault, retry) for kind, status, fault, retry in rows}
    assert told == {kind.value: (facts.status, facts.fault.value, facts.retry) for kind, facts in KINDS.items()}
