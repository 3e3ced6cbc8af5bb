"""A stdio MCP server that can send any byte: it speaks the old era by hand, with nothing but the standard library.

`python raw.py [--START ...]`: the flags spoil its start, the name of the called tool spoils the answer (see `TOOLS`).
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

Frame = dict[str, Any]
OUT = sys.stdout.buffer
ESCAPE = b"\x1b[31m"


class Raw:
    """The conversation: reads frames, writes whatever a script says."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.seen: list[str] = []
        self.cancelled: list[Any] = []
        self.held: list[Frame] = []
        self.lists = 0
        self.token: Any = None

    def write(self, data: bytes) -> None:
        """Write bytes as they are."""
        OUT.write(data)
        OUT.flush()

    def send(self, frame: Frame) -> None:
        """Write one frame as a line."""
        self.write(json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\n")

    def result(self, ident: Any, result: Any) -> None:
        """Answer a request."""
        self.send({"id": ident, "result": result})

    def text(self, ident: Any, text: str) -> None:
        """Answer a tool call with one block of text."""
        self.result(ident, {"content": [{"type": "text", "text": text}]})

    def error(self, ident: Any, code: int, message: str) -> None:
        """Answer with a JSON-RPC error."""
        self.send({"id": ident, "error": {"code": code, "message": message}})

    def read(self) -> Frame | None:
        """The next frame; None at the end of the input."""
        line = sys.stdin.buffer.readline()
        return json.loads(line) if line else None


Script = Callable[[Raw, Any, Frame], None]
TOOLS: dict[str, Script] = {}


def tool(script: Script) -> Script:
    """Register a tool under its function's name."""
    TOOLS[script.__name__.replace("_", "-")] = script
    return script


@tool
def echo(raw: Raw, ident: Any, args: Frame) -> None:
    raw.text(ident, json.dumps(args))


@tool
def given(raw: Raw, ident: Any, args: Frame) -> None:
    """Answer with the result that was given as an argument."""
    raw.result(ident, args["result"])


@tool
def seen(raw: Raw, ident: Any, args: Frame) -> None:
    raw.text(ident, json.dumps({"methods": raw.seen, "cancelled": raw.cancelled, "pid": os.getpid()}))


@tool
def surroundings(raw: Raw, ident: Any, args: Frame) -> None:
    facts = {"argv": sys.argv, "env": dict(os.environ), "cwd": os.getcwd(), "pid": os.getpid(), "group": os.getpgrp()}
    raw.text(ident, json.dumps(facts))


@tool
def hold(raw: Raw, ident: Any, args: Frame) -> None:
    """Answer nothing until so many calls are held, then all of them in reverse order."""
    raw.held.append({"id": ident, "label": args.get("label")})
    if len(raw.held) >= int(args["count"]):
        for held in reversed(raw.held):
            raw.text(held["id"], str(held["label"]))
        raw.held.clear()


@tool
def never(raw: Raw, ident: Any, args: Frame) -> None:
    """Answer nothing."""


@tool
def late(raw: Raw, ident: Any, args: Frame) -> None:
    """Keep the answer until the call is cancelled, then send it all the same."""
    raw.held.append({"id": ident, "late": True})


@tool
def double(raw: Raw, ident: Any, args: Frame) -> None:
    raw.text(ident, "first")
    raw.text(ident, "second")


@tool
def wrong_id(raw: Raw, ident: Any, args: Frame) -> None:
    raw.text(99_999, "for somebody else")
    raw.send({"id": str(ident), "result": {"content": [{"type": "text", "text": "as text"}]}})


@tool
def no_object(raw: Raw, ident: Any, args: Frame) -> None:
    raw.result(ident, ["a", "list"])


@tool
def nameless_error(raw: Raw, ident: Any, args: Frame) -> None:
    raw.send({"id": None, "error": {"code": -32700, "message": "parse error"}})


@tool
def odd_error(raw: Raw, ident: Any, args: Frame) -> None:
    raw.send({"id": ident, "error": args.get("error")})


@tool
def batch(raw: Raw, ident: Any, args: Frame) -> None:
    note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "in a batch"}}
    answer = {"jsonrpc": "2.0", "id": ident, "result": {"content": []}}
    raw.write(json.dumps([note, answer]).encode() + b"\n")


@tool
def chatter(raw: Raw, ident: Any, args: Frame) -> None:
    raw.write(ESCAPE + b"INFO working\x1b[0m\n\n")
    raw.write(b'{"level": "info", "message": "a log line as JSON"}\n')
    raw.write("🚀 still working\n".encode())
    raw.text(ident, "heard")


@tool
def logged(raw: Raw, ident: Any, args: Frame) -> None:
    """Print a cut copy of the answer as a log line before the answer."""
    raw.write(b'DEBUG sending {"jsonrpc": "2.0", "id": %d, "result": {"conte...\n' % ident)
    raw.text(ident, "whole")


@tool
def glued(raw: Raw, ident: Any, args: Frame) -> None:
    """Send half of the answer to the held call, and the whole answer to this one, on one line."""
    held = raw.held.pop()
    raw.write(b'{"jsonrpc": "2.0", "id": %d, "result": {"con' % held["id"])
    raw.text(ident, "whole")


@tool
def prefixed(raw: Raw, ident: Any, args: Frame) -> None:
    raw.write(b"no newline after this: ")
    raw.text(ident, "whole")


@tool
def bad_byte(raw: Raw, ident: Any, args: Frame) -> None:
    raw.write(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"half \xbd"}]}}\r\n' % ident)


@tool
def split_letter(raw: Raw, ident: Any, args: Frame) -> None:
    line = json.dumps({"jsonrpc": "2.0", "id": ident, "result": {"content": [], "text": "😀"}}, ensure_ascii=False)
    data = line.encode() + b"\n"
    cut = data.index("😀".encode()) + 2
    raw.write(data[:cut])
    time.sleep(0.05)
    raw.write(data[cut:])


@tool
def surrogate(raw: Raw, ident: Any, args: Frame) -> None:
    raw.write(b'{"jsonrpc":"2.0","id":%d,"result":{"text":"\\ud83d!","line":"a\xe2\x80\xa8b"}}\n' % ident)


@tool
def size(raw: Raw, ident: Any, args: Frame) -> None:
    """Answer on a line of exactly so many bytes, its newline apart."""
    head = b'{"jsonrpc":"2.0","id":%d,"result":{"text":"' % ident
    raw.write(head + b"x" * (int(args["bytes"]) - len(head) - 3) + b'"}}\n')


@tool
def endless(raw: Raw, ident: Any, args: Frame) -> None:
    """Send a line without end."""
    raw.write(b'{"jsonrpc":"2.0","id":%d,"result":{"text":"' % ident)
    while True:
        raw.write(b"x" * 65536)


@tool
def append_and_die(raw: Raw, ident: Any, args: Frame) -> None:
    append(args["path"])
    os._exit(7)


@tool
def append_line(raw: Raw, ident: Any, args: Frame) -> None:
    append(args["path"])
    raw.text(ident, "appended")


@tool
def close_stdout(raw: Raw, ident: Any, args: Frame) -> None:
    """Close the output and live on."""
    os.close(1)
    while raw.read() is not None:
        pass


@tool
def die(raw: Raw, ident: Any, args: Frame) -> None:
    print(args.get("last_words", "dying"), file=sys.stderr, flush=True)
    os._exit(int(args.get("code", 3)))


@tool
def progress(raw: Raw, ident: Any, args: Frame) -> None:
    """Report progress, some of it with tokens of nobody, before and after the answer."""
    for step in range(int(args.get("steps", 3))):
        report(raw, raw.token, step)
        report(raw, "nobody", step)
        time.sleep(float(args.get("pause", 0)))
    raw.text(ident, "done")
    report(raw, raw.token, 99)


@tool
def many_questions(raw: Raw, ident: Any, args: Frame) -> None:
    """Ask something that no client knows, then ping, then answer with both replies."""
    raw.send({"id": "q1", "method": "no/such"})
    raw.send({"id": "q2", "method": "ping"})
    replies = [raw.read(), raw.read()]
    raw.text(ident, json.dumps(replies))


@tool
def question(raw: Raw, ident: Any, args: Frame) -> None:
    """Put a question, then answer with the reply to it."""
    raw.send({"id": "q", "method": args["method"], "params": args.get("params", {})})
    while True:
        reply = raw.read()
        if reply is None or reply.get("id") == "q":
            break
    raw.text(ident, json.dumps(reply))


@tool
def withdrawn_question(raw: Raw, ident: Any, args: Frame) -> None:
    """Put a question, take it back, then answer with the reply to it."""
    raw.send({"id": "q", "method": "elicitation/create", "params": {"message": "?"}})
    raw.send({"method": "notifications/cancelled", "params": {"requestId": "q"}})
    raw.text(ident, json.dumps(raw.read()))


@tool
def note(raw: Raw, ident: Any, args: Frame) -> None:
    """Send a notification given as arguments, then answer."""
    raw.send({"method": args["method"], "params": args.get("params", {})})
    raw.text(ident, "noted")


def report(raw: Raw, token: Any, step: int) -> None:
    """Send one progress notification."""
    raw.send({"method": "notifications/progress", "params": {"progressToken": token, "progress": step, "total": 9}})


def append(path: str) -> None:
    """Append a line to a file."""
    with open(path, "a", encoding="utf-8") as file:
        file.write("line\n")


def pages(raw: Raw, cursor: str | None) -> Frame:
    """A page of tools, spoilt as `--pages` says."""
    kind = raw.options.pages
    if kind == "101":
        start = int(cursor or 0)
        page: Frame = {"tools": [definition(f"t{n}") for n in range(start, min(start + 50, 101))]}
        return page | ({"nextCursor": str(start + 50)} if start + 50 < 101 else {})
    if kind == "empty-first":
        return {"tools": [definition("t0")]} if cursor else {"tools": [], "nextCursor": "more"}
    if kind == "loop":
        return {"tools": [definition(f"t{cursor or 'first'}")], "nextCursor": "again"}
    if kind == "twice":
        names = ["b", "c"] if cursor else ["a", "b"]
        return {"tools": [definition(name) for name in names]} | ({} if cursor else {"nextCursor": "two"})
    if kind == "late":
        raw.lists += 1
        return {"tools": [] if raw.lists < 3 else [definition("t0")]}
    if kind == "none":
        return {"tools": []}
    if kind == "odd":
        odd = [{"name": "s", "inputSchema": {"type": "string"}}, {"name": "n", "inputSchema": None}, {"name": "a"}, 7]
        return {"tools": [*odd, definition("sound"), {"inputSchema": {}}, {"inputSchema": {}}]}
    if kind == "no-list":
        return {"tools": "none"}
    return {"tools": [definition(name) for name in TOOLS]}


def definition(name: str) -> Frame:
    """A tool's definition."""
    return {"name": name, "inputSchema": {"type": "object"}}


def take(raw: Raw, frame: Frame) -> None:
    """Answer one frame."""
    method, ident, params = frame.get("method", ""), frame.get("id"), frame.get("params") or {}
    if "id" not in frame:
        if method == "notifications/cancelled":
            raw.cancelled.append(params.get("requestId"))
            for held in [held for held in raw.held if held.get("late") and held["id"] == params.get("requestId")]:
                raw.text(held["id"], "too late")
        return
    if method == "initialize":
        capabilities = json.loads(raw.options.capabilities)
        hello = {"protocolVersion": raw.options.version, "capabilities": capabilities}
        raw.result(ident, hello | {"serverInfo": {"name": "raw", "version": "1"}, "instructions": "raw"})
    elif method == "tools/list":
        if raw.options.pages == "broken" and params.get("cursor"):
            raw.error(ident, -32602, "Invalid cursor")
        elif raw.options.pages == "refused":
            raw.error(ident, -32603, "not today")
        elif raw.options.pages == "silent":
            return
        else:
            more = {"nextCursor": "bad"} if raw.options.pages == "broken" else {}
            raw.result(ident, pages(raw, params.get("cursor")) | more)
    elif method == "tools/call":
        raw.token = (params.get("_meta") or {}).get("progressToken")
        TOOLS[params["name"]](raw, ident, params.get("arguments") or {})
    else:
        raw.error(ident, -32601, "Method not found")


def start(options: argparse.Namespace) -> None:
    """Do whatever spoils the start."""
    if options.family:
        survivor = [sys.executable, "-c", SURVIVOR]
        children = [subprocess.Popen(survivor, start_new_session=new) for new in (False, True)]
        with open(options.family, "w", encoding="utf-8") as file:
            file.write(json.dumps([os.getpid(), *(child.pid for child in children)]))
    if options.stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if options.banner:
        OUT.write(b"\xef\xbb\xbfWelcome to raw!\n\x1b[32mready\x1b[0m \xbd\n")
    if options.exit is not None:
        print(options.say, file=sys.stderr, flush=True)
        sys.exit(options.exit)


SURVIVOR = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(60)
"""


def main() -> None:
    """Read the command line and serve until the input ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--capabilities", default='{"tools": {}}')
    parser.add_argument("--version", default="2025-06-18")
    parser.add_argument("--pages")
    parser.add_argument("--banner", action="store_true")
    parser.add_argument("--family", help="file for the ids of the process and of two stubborn children")
    parser.add_argument("--stubborn", action="store_true")
    parser.add_argument("--exit", type=int)
    parser.add_argument("--say", default="")
    parser.add_argument("--hang", action="store_true")
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--discover", choices=["refuse", "die", "ignore"], default="refuse")
    options, _ = parser.parse_known_args()
    start(options)
    raw = Raw(options)
    time.sleep(options.delay)
    while (frame := raw.read()) is not None:
        raw.seen.append(str(frame.get("method")))
        if options.hang or (frame.get("method") == "server/discover" and options.discover == "ignore"):
            continue
        if frame.get("method") == "server/discover" and options.discover == "die":
            print("unknown method", file=sys.stderr, flush=True)
            sys.exit(1)
        take(raw, frame)
    while options.stubborn:
        time.sleep(60)


if __name__ == "__main__":
    main()
