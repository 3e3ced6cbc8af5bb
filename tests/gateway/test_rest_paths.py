"""Which handler a path means."""

from __future__ import annotations

import pytest

from anyact_server.gateway.rest_paths import Place, find, segments_of

PLACES = [
    Place("/v1/actions", {"GET": "list"}),
    Place("/v1/actions/{id}/call", {"POST": "call"}),
    Place("/v1/actions/{id}", {"GET": "one"}),
]


@pytest.mark.case("O7")
@pytest.mark.parametrize(
    ("path", "place", "values"),
    [
        ("/v1/actions", "/v1/actions", {}),
        ("/v1/actions/", "/v1/actions", {}),
        ("/v1/actions/git__log", "/v1/actions/{id}", {"id": "git__log"}),
        ("/v1/actions/git__log/call", "/v1/actions/{id}/call", {"id": "git__log"}),
        ("/v1/actions/git__log/call/", "/v1/actions/{id}/call", {"id": "git__log"}),
        ("/v1/actions/call", "/v1/actions/{id}", {"id": "call"}),
        ("/v1/actions/call/call", "/v1/actions/{id}/call", {"id": "call"}),
        ("/v1/actions/a%2Fcall", "/v1/actions/{id}", {"id": "a/call"}),
        ("/v1/actions/a%2Fb/call", "/v1/actions/{id}/call", {"id": "a/b"}),
        ("/v1/actions/a/b/call", "/v1/actions/{id}/call", {"id": "a/b"}),
        ("/v1/actions/a%20b%3F%23%25%C3%A9", "/v1/actions/{id}", {"id": "a b?#%é"}),
        ("/v1/actions/%FF", "/v1/actions/{id}", {"id": "\ufffd"}),
        ("/v1/actions/..%2F..", "/v1/actions/{id}", {"id": "../.."}),
    ],
)
def test_a_path_is_split_before_it_is_decoded(path: str, place: str, values: dict[str, str]) -> None:
    """So an id may hold anything."""
    found = find(PLACES, segments_of({"raw_path": path.encode()}))
    assert found is not None
    assert (found[0].path, found[1]) == (place, values)


@pytest.mark.parametrize("path", ["/", "/v1", "/v2/actions", "/v1%2Factions", "/v1/Actions/x"])
def test_other_paths_mean_nothing(path: str) -> None:
    """There are no near misses."""
    assert find(PLACES, segments_of({"raw_path": path.encode()})) is None


def test_a_server_that_keeps_no_raw_path_is_understood_too() -> None:
    """Then the decoded path is all there is."""
    found = find(PLACES, segments_of({"path": "/v1/actions/a b%"}))
    assert found is not None
    assert found[1] == {"id": "a b%"}
