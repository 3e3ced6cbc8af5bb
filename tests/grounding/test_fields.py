"""Failures that a value tells of by its fields."""

from __future__ import annotations

import pytest

from anyact_server.grounding.fields import code_of, message_of, sign_in
from anyact_server.types import Json


@pytest.mark.case("O2")
@pytest.mark.parametrize(
    ("value", "pointer"),
    [
        ({"success": False, "error": "x"}, "/success"),
        ({"ok": "false"}, "/ok"),
        ({"isError": True}, "/isError"),
        ({"error": True, "message": "x"}, "/error"),
        ({"error": "boom"}, "/error"),
        ({"errorMessage": "boom"}, "/errorMessage"),
        ({"error": {"code": 5, "message": "x"}}, "/error"),
        ({"error": "x", "issues": [], "total": 0}, "/error"),
        ({"errors": [{"message": "x"}]}, "/errors"),
        ({"errors": ["x"], "data": None}, "/errors"),
        ({"status": "error"}, "/status"),
        ({"status": "timeout", "message": "m", "tool": "t"}, "/status"),
        ({"success": True, "found": False, "data": None, "status": "NOT_FOUND"}, "/status"),
        ({"statusCode": 404}, "/statusCode"),
        ({"status": "503", "message": "x"}, "/status"),
        ({"code": 11200, "msg": "x", "data": {}}, "/code"),
        ({"code": "E_TOOL_ERROR", "message": "x"}, "/code"),
        ({"response": {"success": False}}, "/response/success"),
        ({"result": '{"success": false}'}, "/result/success"),
        ([{"success": False}], "/0/success"),
        ({"Status": "Failure", "Message": "no access"}, "/Status"),
        ({"Result": {"Error": "x"}}, "/Result/Error"),
        ({"success": 0, "reason": "invalid user"}, "/success"),
        ({"errors": {"name": ["is required"]}}, "/errors"),
        ({"fault": {"faultstring": "Invalid ApiKey"}}, "/fault"),
        ({"detail": "Not Found"}, ""),
        ({"error_code": "NotFound", "msg": "x is gone"}, ""),
        ([{"text": '{"error": "x"}'}], "/0/text/error"),
    ],
)
def test_a_failure_is_seen_at_the_top(value: Json, pointer: str) -> None:
    """With the place of the evidence."""
    sign = sign_in(value)
    assert sign is not None and sign.pointer == pointer and sign.share == 1.0


@pytest.mark.case("O2")
@pytest.mark.parametrize(
    "value",
    [
        {"error": None},
        {"message": "ok"},
        {"id": 1, "message": "Not Found"},
        {"ok": 0, "failed": 0},
        {str(i): {"error": "x"} for i in range(300)} | {"error": "x"},
        {"Name": "TypeError", "Price": 3},
        {"error": "", "data": 1},
        {"error": "none"},
        {"error": []},
        {"error": 0},
        {"success": True, "error": "old", "data": 1},
        {"errors": []},
        {"errors": 3},
        {"errors": [1, 2]},
        {"errors": [{"message": "x"}], "count": 5},
        {"id": 7, "name": "job", "status": "failed", "error": "timeout"},
        {"id": 7, "status": "failed"},
        {"status": "ok"},
        {"status": "failed", "rows": [1]},
        {"statusCode": 200},
        {"code": 0, "msg": "fine"},
        {"code": 200, "message": "fine"},
        {"code": "US_CA", "name": "x"},
        {"rows": [{"id": 1, "error": "x"}, {"id": 2}]},
        {"deep": {"deeper": {"error": "x"}}, "n": 1},
        [{"level": "error", "message": "x"}, {"level": "info", "message": "y"}],
        [{"severity": "error", "message": "unknown identifier", "line": 4}],
        [],
        {},
        "error",
        5,
        None,
        [{"text": "words"}],
    ],
)
def test_sound_values_are_left_alone(value: Json) -> None:
    """Empty errors, records about failures, logs, nested fields."""
    assert sign_in(value) is None


@pytest.mark.parametrize(
    ("value", "share"),
    [
        ({"data": {"a": 1, "b": None}, "errors": [{"message": "x"}]}, 0.5),
        ({"data": {"a": None}, "errors": [{"message": "x"}]}, 1.0),
        ({"issues": [{"key": 1}, {"key": 2}], "errors": [{"error": "x"}]}, 1 / 3),
        ({"completed": ["1"], "failures": [{"item": "2", "error": "x"}]}, 0.5),
        ({"completed": [], "failures": ["x"]}, 1.0),
        ({"results": [{"ok": True}, {"ok": False, "error": "x"}, {"skipped": True}, {"ok": True}]}, 0.25),
        ({"results": [{"error": "x"}, {"error": {"message": "y"}}]}, 1.0),
        ({"_shards": {"total": 4, "failed": 1, "failures": [{"reason": "x"}]}, "hits": {"n": 1}}, 0.25),
    ],
)
def test_a_batch_tells_how_much_of_it_failed(value: Json, share: float) -> None:
    """Between 0 and 1."""
    sign = sign_in(value)
    assert sign is not None and sign.share == pytest.approx(share)


def test_messages_and_codes_are_put_together() -> None:
    """From nested errors, lists and extensions; bounded."""
    value = {"error": {"type": "card_error", "message": "declined"}, "detail": "try another"}
    assert message_of(value) == "declined; try another"
    assert code_of(value) == "card_error"
    assert code_of({"extensions": {"code": "GRAPHQL"}}) == "GRAPHQL"
    assert code_of({"error": {"code": 7}}) == 7
    assert message_of({"errorMessages": ["first", "second"]}) == "first"
    assert len(message_of({"message": "x" * 5000})) == 600
    assert message_of("words") == "words" and message_of(5) == "" and code_of("x") is None
