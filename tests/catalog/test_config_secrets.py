"""What must be masked, and what is wrong with URLs."""

from __future__ import annotations

import base64
from urllib.parse import urlsplit

import pytest

from anyact_server.catalog.config_secrets import argument_secrets, header_secrets, is_secret, url_fault, url_secrets


@pytest.mark.parametrize("value", ["true", "False", "debug", "production", "8080", "utf-8", "", "abc", "1.5"])
def test_words_that_stand_everywhere_are_no_secrets(value: str) -> None:
    """Masking them would only blot out messages."""
    assert not is_secret(value)


@pytest.mark.parametrize("value", ["hunter2", "abcd", "123456", "s p a c e"])
def test_everything_else_is_a_secret(value: str) -> None:
    """When in doubt it is masked."""
    assert is_secret(value)


@pytest.mark.case("A1")
def test_a_url_gives_up_its_user_password_and_query_in_every_form() -> None:
    """As written, decoded, and as the header that a client makes of user and password."""
    found = set(url_secrets(urlsplit("https://us%40er:pass%2Fword@h/p?token=to%2Bken&flag&mode=on")))
    pair = base64.b64encode(b"us@er:pass/word").decode()
    assert found == {"us%40er", "us@er", "pass%2Fword", "pass/word", "us@er:pass/word", pair, "to%2Bken", "to+ken"}
    assert set(url_secrets(urlsplit("https://key-alone@h/"))) >= {"key-alone"}
    assert not set(url_secrets(urlsplit("https://h/p")))


def test_a_headers_token_is_a_secret_by_itself_too() -> None:
    """The word before it is not."""
    assert set(header_secrets("Bearer tok-en")) == {"Bearer tok-en", "tok-en"}
    assert set(header_secrets("on")) == set()


def test_faults_of_urls_never_repeat_the_url() -> None:
    """A URL may hold secrets wherever it is wrong."""
    for url in ("ftp://secret", "secret", "https://", "https://[secret/", "https://h/ secret"):
        fault = url_fault(url)
        assert fault is not None
        assert "secret" not in "".join(part or "" for part in fault)
    assert url_fault("https://[::1]:80/x?y#z") is None


@pytest.mark.case("A1")
@pytest.mark.parametrize(
    ("args", "secrets"),
    [
        (["--api-key", "hunter2!"], {"hunter2!"}),
        (["--token=hunter2!", "x"], {"hunter2!"}),
        (["API_KEY=hunter2!"], {"hunter2!"}),
        (["--password", "--verbose", "word"], set()),
        (["--header", "Authorization: Bearer hunter2!"], {"Bearer hunter2!", "hunter2!"}),
        (["-H", "X-Key:hunter2!"], {"hunter2!", "X-Key:hunter2!"}),
        (["postgresql://me:pa55@db/x"], {"pa55", "me:pa55", "bWU6cGE1NQ=="}),
        (["--url", "https://h/?sig=hunter2!"], {"hunter2!"}),
        (["sk-1a2b3c4d5e6f7a8b9c0d"], {"sk-1a2b3c4d5e6f7a8b9c0d"}),
        (["-y", "@modelcontextprotocol/server-filesystem@2025.8.31", "/home/me/documents2024"], set()),
        (["mcp-server-git", "--repository", "/work/repo", "--port", "8080", "--mode=auto"], set()),
        (["a://[", "b://x\u2100y"], set()),
    ],
)
def test_secrets_among_arguments_are_told_from_other_words(args: list[str], secrets: set[str]) -> None:
    """By the flag in front, by the form of a header or URL, and by the look of a key."""
    assert set(argument_secrets(args)) == secrets
