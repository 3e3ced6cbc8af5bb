"""`scripts/bench tokens [--data DIR] [--quick] [--json]`: what a client's context pays for many servers.

Raw is what a client pays that is connected to every server itself. With `--data` the servers are real ones
(`catalogs/real_tools.jsonl`), else those that the tests of this repository use.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.calls.processes import INITIALIZE
from benchmarks.calls.small import ECHO
from benchmarks.catalogs import Offer, fixtures, install, real
from benchmarks.report import options, publish, say
from benchmarks.scale.outside import INITIALIZED, Pipe, serve, started

from .counting import listed, spread, tokens
from .rival import fastmcp

Figures = dict[str, Any]
WORDS = "Tokens of raw tool lists, of AnyAct's tools and of its answers, counted with cl100k."
INTENTS = (
    "create an issue in a repository",
    "what time is it in Tokyo",
    "read a file from disk",
    "search the web for recent news",
    "send a message to a channel",
    "list the tables of a database",
    "run a SQL query",
    "take a screenshot of a page",
    "convert a document to markdown",
    "add a row to a spreadsheet",
    "show the commits of a branch",
    "find papers about a topic",
)
"""Needs as a model would word them, one search each."""
ROWS = [{"id": at, "name": f"customer {at}", "city": "Oslo", "open": at % 3 == 0} for at in range(2_000)]
RESULTS: Mapping[str, str] = {
    "a sentence": "The meeting was moved to Thursday at ten.",
    "JSON, 20 rows": json.dumps(ROWS[:20]),
    "JSON, 2,000 rows": json.dumps(ROWS),
    "a log, 5,000 lines": "\n".join(
        f"2026-12-01T10:00:{at % 60:02} INFO request {at} took 12 ms" for at in range(5_000)
    ),
}
"""Results of a server, by what they are."""
STEPS = 3
"""Actions that a task of ordinary size needs: searched, described and called one after the other."""
CALLED = Offer("small", (ECHO.model_dump(mode="json", by_alias=True, exclude_none=True),), {"name": "small"})
"""The one server that is really called; `catalogs` names its command for every server."""


def text(result: Mapping[str, Any]) -> str:
    """The text blocks of a result."""
    return "\n".join(block["text"] for block in result["content"] if block["type"] == "text")


def opened(pipe: Pipe) -> None:
    """Greet."""
    pipe.send(INITIALIZE)
    pipe.answer(1)
    pipe.send(INITIALIZED)


def anyact(offers: Sequence[Offer], folder: Path) -> Figures:
    """What AnyAct's tools and answers cost, with these servers and one more behind it."""
    config, home = install([*offers, CALLED], folder)
    with started(serve(home, config)) as pipe:
        opened(pipe)
        tools = pipe.ask("tools/list", {})["tools"]
        found = [pipe.call("search_actions", {"intents": [intent]}) for intent in INTENTS]
        at_once = pipe.call("search_actions", {"intents": list(INTENTS[:STEPS])})
        best = [answer["structuredContent"]["actions"][:1] for answer in found]
        described = [pipe.call("describe_actions", {"actions": one}) for one in best if one]
        observed = {}
        for what, raw in RESULTS.items():
            answer = pipe.call("call_action", {"action": "small__echo", "arguments": {"text": raw}})
            if answer.get("isError"):
                raise RuntimeError(f"the call failed: {text(answer)}")
            observed[what] = {"raw": tokens(raw), "observation": tokens(text(answer))}
    return {
        "tools_list": listed(tools),
        "search": spread([text(answer) for answer in found]),
        "search_of_3_intents": tokens(text(at_once)),
        "description": spread([text(answer) for answer in described]),
        "observations": observed,
    }


def rivals(offers: Sequence[Offer], folder: Path) -> Figures:
    """What FastMCP's search costs over the same tools, with its own limit and with ten hits as here."""
    tools = [
        {
            "name": f"{offer.server}_{tool['name']}",
            "description": tool.get("description") or "",
            "inputSchema": tool.get("inputSchema") or {"type": "object"},
        }
        for offer in offers
        for tool in offer.tools
    ]
    found: Figures = {}
    for name, chosen in (("fastmcp bm25, 5 hits", {}), ("fastmcp bm25, 10 hits", {"max_results": 10})):
        say(f"{name} ...")
        told = fastmcp(tools, INTENTS, folder, chosen)
        found[name] = {"tools_list": listed(told["tools"]), "search": spread(told["answers"])}
    return found


def session(figures: Figures) -> Figures:
    """What a task of three actions costs before its results: raw, and with a search for each."""
    raw = figures["raw"]["shown"]
    own = figures["anyact"]
    found = {"raw": raw, "anyact": own["tools_list"]["shown"] + STEPS * own["search"]["median"]}
    found["anyact, one search"] = own["tools_list"]["shown"] + own["search_of_3_intents"]
    for name, one in figures["rivals"].items():
        found[name] = one["tools_list"]["shown"] + STEPS * one["search"]["median"]
    return {name: {"tokens": cost, "share_of_raw": round(cost / raw, 4)} for name, cost in found.items()}


def table(figures: Figures) -> str:
    """The figures as text."""
    raw, own = figures["raw"], figures["anyact"]
    lines = [f"{figures['servers']} servers, {raw['tools']} tools", ""]
    lines.append(f"{'tools/list':26} {'shown':>8} {'whole':>8}")
    rows = {"raw": raw, "anyact": own["tools_list"]}
    rows |= {name: one["tools_list"] for name, one in figures["rivals"].items()}
    lines += [f"{name:26} {one['shown']:8} {one['whole']:8}" for name, one in rows.items()]
    lines += ["", f"{'one answer':26} {'median':>8} {'most':>8}"]
    answers = {"anyact search, 10 hits": own["search"], "anyact description": own["description"]}
    answers |= {f"{name}": one["search"] for name, one in figures["rivals"].items()}
    lines += [f"{name:26} {one['median']:8} {one['most']:8}" for name, one in answers.items()]
    lines += ["", f"{'result':26} {'raw':>8} {'observed':>8}"]
    lines += [f"{name:26} {one['raw']:8} {one['observation']:8}" for name, one in own["observations"].items()]
    lines += ["", f"{'a task of 3 actions':26} {'tokens':>8} {'of raw':>8}"]
    lines += [f"{name:26} {one['tokens']:8} {one['share_of_raw']:8.1%}" for name, one in figures["session"].items()]
    return "\n".join(lines)


def main() -> None:
    """Run the bench."""
    chosen = options("tokens", WORDS)
    offers = real(chosen.data) or fixtures()
    if chosen.quick:
        offers = offers[:8]
    raw = listed(tool for offer in offers for tool in offer.tools)
    say(f"{raw['tools']} tools of {len(offers)} servers ...")
    with tempfile.TemporaryDirectory() as name:
        figures: Figures = {"data": chosen.data is not None, "servers": len(offers), "raw": raw}
        figures["anyact"] = anyact(offers, Path(name))
        figures["rivals"] = rivals(offers, Path(name))
    figures["session"] = session(figures)
    publish("tokens", figures, chosen, table(figures))


if __name__ == "__main__":
    main()
