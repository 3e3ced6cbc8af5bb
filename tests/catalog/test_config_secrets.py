"""What must be masked, and what is wrong with URLs."""

from __future__ import annotations

import base64
from urllib.parse import urlsplit

import pytest

from anyact_server.catalog.config_secrets import (
    argument_secrets,
    header_secrets,
    is_secret,
    looks_secret,
    names_secret,
    setting_secrets,
    url_fault,
    url_secrets,
)


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
        (["--token-file", "/run/secrets/a", "--ssh-key", "~/.ssh/id_rsa", "--author", "Jane Doe"], set()),
        (["a://[", "b://x\u2100y"], set()),
    ],
)
def test_secrets_among_arguments_are_told_from_other_words(args: list[str], secrets: set[str]) -> None:
    """By the flag in front, by the form of a header or URL, and by the look of a key."""
    assert set(argument_secrets(args)) == secrets


@pytest.mark.parametrize(
    "name",
    [
        "API_KEY",
        "apiKey",
        "GITHUB_PAT",
        "DB_PASS",
        "PASSPHRASE",
        "db_pwd",
        "AUTHORIZATION",
        "AUTH",
        "SESSION",
        "COOKIE",
        "PRIVATE",
        "SENTRY_DSN",
        "AZURE_CONNECTION_STRING",
        "MY_TOKENS",
        "OPENAPI_MCP_HEADERS",
        "CREDENTIALS",
    ],
)
def test_names_of_secrets_are_known(name: str) -> None:
    """As hosts and servers spell them; such a value is a secret even as a plain word."""
    assert names_secret(name)
    assert set(setting_secrets(name, "hunter")) == {"hunter"}


@pytest.mark.parametrize(
    "name",
    [
        "MODE",
        "DATA_DIR",
        "KEYBOARD",
        "TOKENIZERS",
        "AUTHOR",
        "COMPASS",
        "PATH",
        "TOKEN_FILE",
        "MAX_TOKENS",
        "AUTH_MODE",
        "SESSION_DIR",
        "KEY_NAME",
        "",
    ],
)
def test_names_that_only_speak_of_secrets_are_none(name: str) -> None:
    """Where it is kept, how long it lives, or a word that resembles it."""
    assert not names_secret(name)
    assert not set(setting_secrets(name, "hunter"))


@pytest.mark.parametrize(
    "value",
    [
        "/data/projects",
        "~/projects",
        "./a/b",
        "C:\\Users\\me2",
        "projects",
        "my-data",
        "hang",
        "true",
        "123456789012",
        "db1.internal.example.com",
        "localhost:8080",
        "10.0.0.12:443",
        "me1980@example.com",
        "2026-01-02T10:00:00Z",
        "https://h.example/mcp?mode=on",
        "ssh://git@github.com/a/b",
        "tokenizer",
        "token",
        "credentials.json",
        "Jane Doe",
        "/run/secrets/db_password",
        "use key: value",
        "http://[bad",
        "b://x\u2100y",
        "postgres://db.example/x?sslmode=require",
    ],
)
def test_paths_words_numbers_and_hosts_are_no_secrets(value: str) -> None:
    """They stand in results and messages everywhere."""
    assert not looks_secret(value)
    assert not set(setting_secrets("SETTING", value))


@pytest.mark.case("A1")
@pytest.mark.parametrize(
    ("value", "inside"),
    [
        ("sesame-env-4711", "sesame-env-4711"),
        ("sk1a2b3c4d5e", "sk1a2b3c4d5e"),
        ("env-secret", "env-secret"),
        ("mysecretword", "mysecretword"),
        ("postgres://app:pa%2F55@db/x", "pa/55"),
        ("https://ghp-1a2b3c4d5e@github.com/a", "ghp-1a2b3c4d5e"),
        ("https://h.example/x?token=hunter", "hunter"),
        ("https://h.example/x?id=1a2b3c4d5e6f7", "1a2b3c4d5e6f7"),
        ("Server=db;User=app;Password=hun/ter;", "hun/ter"),
        ('{"Authorization": "Bearer hunter2", "Version": "1"}', "hunter2"),
    ],
)
def test_values_that_look_like_secrets_are_secrets_under_any_name(value: str, inside: str) -> None:
    """The whole of it, and the secret within: a server may repeat either."""
    found = set(setting_secrets("SETTING", value))
    assert {value, inside} <= found
    assert not {"postgres", "app", "db", "Version"} & found


def test_a_path_is_no_secret_whatever_its_variable_is_called() -> None:
    """But a key that begins with a slash is."""
    assert not set(setting_secrets("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/key.json"))
    assert not set(setting_secrets("PWD", "C:\\work"))
    key = "/wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY1"
    assert set(setting_secrets("AWS_SECRET_ACCESS_KEY", key)) == {key}
