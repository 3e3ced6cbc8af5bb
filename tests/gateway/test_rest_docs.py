"""The examples of docs/rest.md and docs/access.md, run as they stand."""

from __future__ import annotations

import json
import logging
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import click
import httpx2
import pytest

from anyact_server.cli.serve import serve
from anyact_server.telemetry import ROOT as LOGGER
from tests.cli.kit import Shell
from tests.dispatch.whole import inside

from .web import rooms, served, web_app

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).resolve().parents[2]
REST = (ROOT / "docs" / "rest.md").read_text(encoding="utf-8")
ACCESS = (ROOT / "docs" / "access.md").read_text(encoding="utf-8")
PORT = "http://127.0.0.1:8484"


def commands(text: str, program: str) -> list[list[str]]:
    """Every command of a program in the shell examples, as words."""
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ")
    return [shlex.split(part) for part in re.split(rf"^(?={program} )", lines, flags=re.MULTILINE) if part.strip()]


def request(words: list[str], base: str) -> tuple[str, str, dict[str, str], str | None]:
    """Method, address, headers and body of a curl command."""
    method, headers, body, address = "", {}, None, ""
    rest: Iterator[str] = iter(words[1:])
    for word in rest:
        if word == "-X":
            method = next(rest)
        elif word == "-H":
            name, _, value = next(rest).partition(": ")
            headers[name] = value
        elif word == "-d":
            body = next(rest)
        elif word != "-i":
            address = word.replace(PORT, base)
    return method or ("POST" if body else "GET"), address, headers, body


async def test_every_example_of_rest_answers_as_the_text_says(tmp_path: Path) -> None:
    """Those of the errors with errors, all others with success, each with the one body."""
    examples = commands(REST, "curl")
    assert len(examples) >= 12
    with anyio.fail_after(50):
        async with (
            rooms(tmp_path, inside("plain")) as parts,
            served(web_app(parts)) as base,
            httpx2.AsyncClient(timeout=20) as http,
        ):
            large = await http.post(f"{base}/v1/call", json={"action": "plain__big", "arguments": {"size": 500_000}})
            handle: str = large.json()["observation"]["handle"]
            for words in examples:
                method, address, headers, body = request(words, base)
                answer = await http.request(method, address.replace("HANDLE", handle), headers=headers, content=body)
                wrong = "-i" in words
                assert (answer.status_code >= 400) is wrong, (words, answer.text)
                assert ("error" in answer.json()) is wrong


async def test_the_example_of_an_error_is_what_is_answered(tmp_path: Path) -> None:
    """Member by member."""
    shown = json.loads(re.findall(r"```json\n(.*?)```", REST, re.DOTALL)[0])
    with anyio.fail_after(50):
        async with (
            rooms(tmp_path, inside("plain")) as parts,
            served(web_app(parts)) as base,
            httpx2.AsyncClient() as http,
        ):
            answer: dict[str, Any] = (await http.get(f"{base}/v1/actions/plain__ad")).json()
    assert answer.keys() == shown.keys() and answer["error"].keys() == shown["error"].keys()
    for name in ("kind", "message", "fault", "retryable", "retry"):
        assert answer["error"][name] == shown["error"][name]
    assert "plain__add" in answer["error"]["alternatives"]


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """The command line in this process; the log is put back as it was."""
    root = logging.getLogger(LOGGER)
    before = (list(root.handlers), root.level, root.propagate)
    yield Shell(tmp_path, tmp_path)
    root.handlers[:], root.level, root.propagate = before


def test_every_command_of_the_page_about_access_works(tmp_path: Path, shell: Shell) -> None:
    """Tokens are made, listed and revoked; the options of `serve` exist."""
    known = {option for parameter in serve.params if isinstance(parameter, click.Option) for option in parameter.opts}
    examples = commands(ACCESS, "anyact")
    assert len(examples) == 6
    for words in examples:
        if words[1] == "serve":
            assert {word for word in words if word.startswith("--")} <= known
            continue
        ended = shell(*words[1:], "--home", str(tmp_path))
        assert ended.code == 0, ended
