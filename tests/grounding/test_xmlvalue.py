"""XML as data."""

from __future__ import annotations

import pytest

from anyact_server.grounding.xmlvalue import xml_value


def test_elements_become_objects_and_lists() -> None:
    """Attributes under `@`, text beside them under `#`."""
    text = '<?xml version="1.0"?><r v="1"><i id="a">x</i><i>y</i><i/><e><n>1</n></e></r>'
    assert xml_value(text) == {"r": {"@v": "1", "i": [{"@id": "a", "#": "x"}, "y", ""], "e": {"n": "1"}}}


@pytest.mark.parametrize(
    "text",
    [
        "<a><b></a>",
        "no markup",
        '<!DOCTYPE a [<!ENTITY x "boom">]><a>&x;</a>',
        "<a>" * 200 + "</a>" * 200,
        '<?xml version="1.0" encoding="no-such"?><a/>',
        f"<a>{'x' * 8_000_000}</a>",
    ],
    ids=["broken", "text", "entities", "deep", "encoding", "long"],
)
def test_what_cannot_be_read_safely_stays_text(text: str) -> None:
    """Entities are never expanded; depth and length are bounded."""
    assert xml_value(text) is None
