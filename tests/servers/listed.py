"""A stdio MCP server whose list of tools is a file: `python listed.py FILE`, old era, standard library only.

The file holds `{"tools": [...], "results": {name: result}}` and is read anew for every request; a tool without a result
answers with its arguments. Every call is noted as a line of `FILE.calls`: its name and its arguments, whether or not
there are any. A call of `announce` tells that the list changed; a call of `die` ends the process.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

Frame = dict[str, Any]


def send(frame: Frame) -> None:
    """Write one frame."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **frame}) + "\n")
    sys.stdout.flush()


def called(file: Path, known: Frame, params: Frame) -> Frame:
    """Note a call; its result."""
    name = params["name"]
    with open(f"{file}.calls", "a", encoding="utf-8") as calls:
        calls.write(json.dumps([name, params.get("arguments", "nothing")]) + "\n")
    if name == "announce":
        send({"method": "notifications/tools/list_changed"})
    if name == "die":
        os._exit(3)
    echo = {"content": [{"type": "text", "text": json.dumps(params.get("arguments"))}]}
    result: Frame = known.get("results", {}).get(name, echo)
    return result


def answer(file: Path, method: str, params: Frame) -> Frame:
    """The answer to a request: `result` or `error`."""
    known = json.loads(file.read_text(encoding="utf-8"))
    if method == "initialize":
        info = {"capabilities": {"tools": {"listChanged": True}}, "serverInfo": {"name": "listed", "version": "1"}}
        return {"result": {"protocolVersion": "2025-06-18", **info}}
    if method == "tools/list":
        return {"result": {"tools": known["tools"]}}
    if method == "tools/call" and params["name"] in [tool.get("name") for tool in known["tools"]]:
        return {"result": called(file, known, params)}
    if method == "tools/call":
        return {"error": {"code": -32602, "message": f"Unknown tool: {params['name']}"}}
    return {"error": {"code": -32601, "message": "Method not found"}}


def main() -> None:
    """Serve until the input ends."""
    file = Path(sys.argv[1])
    for line in sys.stdin:
        frame = json.loads(line)
        if "id" in frame and "method" in frame:
            send({"id": frame["id"], **answer(file, frame["method"], frame.get("params") or {})})


if __name__ == "__main__":
    main()
