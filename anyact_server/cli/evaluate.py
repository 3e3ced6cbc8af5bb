"""`eval retrieval`, `eval results` and `eval screens`: how good the product is on labelled files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from anyact_server.catalog import Site
from anyact_server.evaluation import results, retrieval, screens
from anyact_server.grounding import Grounder, estimate, open_store
from anyact_server.grounding.screen import ScreenReader, decode_picture, render_screen
from anyact_server.retrieval import VectorStore
from anyact_server.settings import Settings
from anyact_server.telemetry import SystemClock
from anyact_server.types import Json

from .common import site_options
from .options import Options, shared_options
from .output import DONE, note, progress, show_json, table


@click.group(name="eval")
def evaluate() -> None:
    """Measure retrieval, the reading of results and of screens on labelled files.

    \b
    anyact eval retrieval --tools tools.jsonl --queries queries.jsonl
    anyact eval retrieval --tools tools.jsonl --queries queries.jsonl --compare off
    anyact eval results labelled.jsonl
    anyact eval screens folder
    """


def measured(site: Site, settings: Settings, tools: str, queries: str, as_json: bool) -> retrieval.Report:
    """One measurement, with progress; vectors are kept in the home folder."""
    store = VectorStore(site.make_home() / "vectors.sqlite")
    try:
        with progress(f"encoder {settings.encoder}", 100, as_json=as_json) as bar:

            def told(what: str, done: int, total: int) -> None:
                share = 50 * done // max(total, 1)
                bar.at(share + (50 if what == "search" else 0), f"{what} {done} of {total}")

            return retrieval.run(
                Path(tools).expanduser(), Path(queries).expanduser(), settings=settings, store=store, progress=told
            )
    finally:
        store.close()


def _number(value: float) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".")


@evaluate.command(name="retrieval")
@click.option("--tools", required=True, type=click.Path(), metavar="FILE", help="Actions as JSON lines, also .gz.")
@click.option("--queries", required=True, type=click.Path(), metavar="FILE", help="Requests with their gold ids.")
@click.option(
    "--misses", type=click.IntRange(0), default=0, metavar="N", help="Also show the first N that were missed."
)
@click.option("--compare", metavar="ENCODER", help="Measure another encoder too, and tell the difference to the first.")
@site_options
def retrieval_(site: Site, as_json: bool, tools: str, queries: str, misses: int, compare: str | None) -> int:
    """Measure how well actions are found: recall, all@10, ndcg, mrr and CPU time, with 95 % intervals."""
    first = measured(site, site.settings, tools, queries, as_json)
    report: dict[str, Any] = first.as_json(misses)
    if compare is not None:
        second = measured(site, site.settings.model_copy(update={"encoder": compare}), tools, queries, as_json)
        grown = {name: list(parts) for name, parts in retrieval.difference(first, second).items()}
        report["compared"] = {"encoder": compare, **second.as_json(), "difference": grown}
    if as_json:
        show_json(report)
    else:
        _show_retrieval(report)
    return DONE


def _show_retrieval(report: Mapping[str, Any]) -> None:
    compared = report.get("compared")
    head = ["MEASURE", "VALUE", "95 %"] + ([compared["encoder"].upper(), "DIFFERENCE"] if compared else [])
    rows = []
    for name in (*retrieval.MEASURES, "cpu_ms", "cpu_ms_p95"):
        low_high = report["intervals"].get(name)
        row = [name, _number(report[name]), f"{low_high[0]:.3f} to {low_high[1]:.3f}" if low_high else ""]
        if compared:
            grown = compared["difference"].get(name)
            change = f"{grown[0]:+.4f} ({grown[1]:+.3f} to {grown[2]:+.3f})" if grown else ""
            row += [_number(compared[name]), change]
        rows.append(row)
    table(head, rows)
    for missed in report.get("misses", ()):
        click.echo(f"missed {missed['id']}: {' / '.join(missed['intents'])}")
        for group in missed["missed"]:
            click.echo(f"  wanted {' or '.join(group)}")
        click.echo(f"  found  {', '.join(missed['found'][:3]) or '-'}")
    note(f"{report['queries']} requests over {report['tools']} actions")
    if report.get("unknown_gold"):
        note(f"{report['unknown_gold']} gold ids are not among the actions")
    if report.get("degraded"):
        note(f"degraded: {report['degraded']}")


@evaluate.command(name="results")
@click.argument("file", type=click.Path(), metavar="FILE")
@click.option(
    "--wrong", type=click.IntRange(0), default=0, metavar="N", help="Also show the first N misjudged records."
)
@site_options
def results_(site: Site, as_json: bool, file: str, wrong: int) -> int:
    """Measure how well failures are recognised in labelled results of actions."""
    clock = SystemClock()
    grounder = Grounder(open_store(site.home, site.settings, clock), site.settings, clock)
    report = results.evaluate(Path(file).expanduser(), grounder)
    misjudged = [record for record in report.records if record.wrong][:wrong]
    if as_json:
        listed: list[Json] = [
            {"id": one.id, "server": one.server, "wrong": one.wrong, "label": one.kind, "given": one.kind_given}
            for one in misjudged
        ]
        show_json({**report.measures, **({"wrong": listed} if wrong else {})})
        return DONE
    table(("MEASURE", "VALUE"), [(name, _number(value)) for name, value in report.measures.items()])
    for one in misjudged:
        click.echo(f"{one.wrong}: {one.id} of {one.server}: labelled {one.kind}, taken for {one.kind_given}")
    return DONE


@evaluate.command(name="screens")
@click.argument("folder", type=click.Path(), metavar="DIR")
@click.option(
    "--engine",
    type=click.Choice(["ppocr", "tesseract", "none"]),
    help="What reads the text; the best that is installed when not given.",
)
@shared_options
def screens_(options: Options, folder: str, engine: str | None) -> int:
    """Measure how well words and elements are read off screens (NAME.png beside NAME.json), CPU time and tokens."""
    as_json = options.as_json
    reader = ScreenReader(engine or "")
    reader.warm_up()
    with progress("screens", 100, as_json=as_json) as bar:
        report = screens.evaluate(
            Path(folder).expanduser(),
            lambda data, name: reader.read(decode_picture(data), name),
            render_screen,
            estimate,
            lambda done, total, name: bar.at(100 * done // max(total, 1), name),
        )
    value = report.as_json()
    if as_json:
        show_json(value)
        return DONE
    _show_screens(value)
    return DONE


def _show_screens(report: Mapping[str, Any]) -> None:
    names = [name for name in screens.MEASURES if name != "char_accuracy"]
    families = report["families"]
    rows = [[name, *(_figure(part[name]) for part in (report, *families.values()))] for name in names]
    for script in report["char_accuracy"]:
        shares = [part["char_accuracy"].get(script) for part in (report, *families.values())]
        rows.append([f"characters, {script}", *map(_figure, shares)])
    table(["MEASURE", "ALL", *(name.upper() for name in families)], rows)
    note(f"{report['screens']} screens, text read by {report['engine']}, at most {report['peak_mb']} MB resident")


def _figure(value: float | None) -> str:
    return "-" if value is None else _number(value)


COMMANDS = {"eval": evaluate}
