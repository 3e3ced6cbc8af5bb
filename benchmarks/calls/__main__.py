"""`scripts/bench calls`: what a call costs through AnyAct and its rivals, per route and era; cold start and memory."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from benchmarks.report import environment, options, publish, say

from .processes import PYTHON, cold_start, cpu_seconds, free_port, resident_mb, running
from .systems import ANYACT, FASTMCP, SMALL, System, Workshop, systems

Figures = dict[str, Any]
WORDS = "Interleaved calls of one small tool: direct, through AnyAct, through its rivals."


async def measure(chosen: Sequence[System], rounds: int) -> tuple[dict[int, list[float]], dict[int, str]]:
    """Seconds of each call by system, one call of each per round, so that noise falls on all alike."""
    taken: dict[int, list[float]] = defaultdict(list)
    lost: dict[int, str] = {}
    async with AsyncExitStack() as stack:
        clients: dict[int, Client] = {}
        for number, system in enumerate(chosen):
            target = system.url or StdioServerParameters(command=system.command[0], args=list(system.command[1:]))
            try:
                clients[number] = await stack.enter_async_context(Client(target, mode=system.era))
                await clients[number].call_tool(system.call[0], dict(system.call[1]))
            except (MCPError, OSError, ExceptionGroup) as error:
                lost[number] = str(error)[:200]
        for turn in range(rounds + 5):
            for number, client in clients.items():
                if number in lost:
                    continue
                tool, arguments = chosen[number].call
                started = time.perf_counter()
                result = await client.call_tool(tool, dict(arguments))
                seconds = time.perf_counter() - started
                if result.is_error:
                    lost[number] = f"the call failed: {result.content}"[:200]
                elif turn >= 5:
                    taken[number].append(seconds)
    return taken, lost


def calls(shop: Workshop, era: str, rounds: int, rivals: bool) -> list[Figures]:
    """One row per system: median, ratio to the sum of its direct hops, CPU of the proxy per call, memory."""
    chosen = systems(shop, era, rivals)
    with ExitStack() as stack:
        pids: dict[int, int] = {}
        for system in chosen:
            if system.port and system.port not in pids:
                pids[system.port] = stack.enter_context(running(system.command, system.port, system.environment))
        before = {port: cpu_seconds(pid) for port, pid in pids.items()}
        taken, lost = anyio.run(measure, chosen, rounds)
        spent = {port: cpu_seconds(pid) - before[port] for port, pid in pids.items()}
        memory = {port: resident_mb(pid) for port, pid in pids.items()}
    medians = {number: statistics.median(values) for number, values in taken.items()}
    hop = {system.route: medians[number] for number, system in enumerate(chosen) if system.name == "direct"}
    shared = [system.port for system in chosen]
    rows = []
    for number, system in enumerate(chosen):
        if number in lost or number not in medians:
            rows.append({"system": system.name, "route": system.route, "era": era, "lost": lost.get(number, "no call")})
            continue
        bound = sum(hop[part] for part in system.route.split("→"))
        row: Figures = {"system": system.name, "route": system.route, "era": era}
        row |= {"p50_ms": round(medians[number] * 1e3, 3), "ratio": round(medians[number] / bound, 2)}
        if system.port:
            users = shared.count(system.port)
            row |= {
                "cpu_ms": round(spent[system.port] * 1e3 / (rounds * users), 2),
                "rss_mb": round(memory[system.port]),
            }
        rows.append(row)
    return rows


def starts(folder: Path, repeats: int) -> list[Figures]:
    """Cold start of the smallest server, of AnyAct with 0 and 62 servers configured, and of FastMCP's proxy."""
    entries = {f"s{number}": {"command": SMALL[0], "args": SMALL[1:]} for number in range(62)}
    none, many = folder / "none.json", folder / "many.json"
    none.write_text('{"mcpServers": {}}', encoding="utf-8")
    many.write_text(json.dumps({"mcpServers": entries}), encoding="utf-8")
    shop = Workshop(folder, 0)
    fastmcp = str(environment(*FASTMCP) / "python")
    commands = {
        "smallest SDK server": SMALL,
        "anyact, 0 servers": [ANYACT, "serve", "--stdio", "--config", str(none), "--home", str(folder / "h0")],
        "anyact, 62 servers": [ANYACT, "serve", "--stdio", "--config", str(many), "--home", str(folder / "h62")],
        "fastmcp proxy, 1 server": [fastmcp, shop.program(), shop.config(False), "plain", "stdio"],
    }
    taken: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for _ in range(repeats):
        for name, command in commands.items():
            taken[name].append(cold_start(command, {}))
    base_cpu, base_wall = (statistics.median(one[i] for one in taken["smallest SDK server"]) for i in (0, 1))
    rows = []
    for name, values in taken.items():
        cpu, wall = (statistics.median(one[i] for one in values) for i in (0, 1))
        rows.append(
            {
                "system": name,
                "cpu_s": round(cpu, 2),
                "wall_s": round(wall, 2),
                "cpu_ratio": round(cpu / base_cpu, 2),
                "wall_ratio": round(wall / base_wall, 2),
            }
        )
    return rows


def table(figures: Figures) -> str:
    """The figures as text."""
    lines = [f"{'system':24} {'route':14} {'era':7} {'p50 ms':>8} {'x sum':>6} {'cpu ms':>7} {'MB':>5}"]
    for row in figures["calls"]:
        if "lost" in row:
            lines.append(f"{row['system']:24} {row['route']:14} {row['era']:7} lost: {row['lost'][:60]}")
            continue
        extra = f"{row.get('cpu_ms', ''):>7} {row.get('rss_mb', ''):>5}"
        lines.append(f"{row['system']:24} {row['route']:14} {row['era']:7} {row['p50_ms']:8} {row['ratio']:6} {extra}")
    lines.append(f"\n{'cold start':28} {'cpu s':>6} {'wall s':>7} {'x cpu':>6} {'x wall':>7}")
    for row in figures["cold_start"]:
        values = f"{row['cpu_s']:6} {row['wall_s']:7} {row['cpu_ratio']:6} {row['wall_ratio']:7}"
        lines.append(f"{row['system']:28} {values}")
    return "\n".join(lines)


def main() -> None:
    """Run the bench."""
    chosen = options("calls", WORDS)
    rounds, repeats = (20, 2) if chosen.quick else (300, 7)
    with tempfile.TemporaryDirectory() as name:
        folder, port = Path(name), free_port()
        shop = Workshop(folder, port)
        rows = []
        with running([PYTHON, "-m", "benchmarks.calls.small", "http", str(port)], port, {}):
            for era in ("auto", "legacy"):
                say(f"calls, client {era} ...")
                rows += calls(shop, era, rounds, rivals=True)
        say("cold starts ...")
        figures = {"rounds": rounds, "calls": rows, "cold_start": starts(folder, repeats)}
    publish("calls", figures, chosen, table(figures))


if __name__ == "__main__":
    main()
