"""The command `discover`, and the report of `audit --all`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import click

from echoless.cli import render
from echoless.cli.options import examples, json_option, settings_for
from echoless.cli.progress import Bar
from echoless.core import rendering
from echoless.core.destination import command_line
from echoless.core.document import (
    Block,
    Extent,
    Gap,
    Heading,
    Table,
    command,
    count,
    names,
    number,
    percent,
    quoted,
    say,
    short_time,
    strong,
)
from echoless.core.errors import TOO_MUCH_REPETITION, InputError, UsageError
from echoless.core.masking import OUTPUT
from echoless.core.settings import Choices, layered, resolve
from echoless.execution.plan_blocks import off_blocks
from echoless.workflows.audit.all_stores import AllAudits, StoreAudit, audit_all
from echoless.workflows.audit.report import unjudged
from echoless.workflows.audit.report_blocks import between_blocks
from echoless.workflows.discovery.search import Discovery, ListedStore, discover, named_store

_NAMED: Final = 3
"""Stores that are named with one problem; the table has all of them."""


@click.command(
    "discover",
    epilog=examples("echoless discover", "echoless discover . ~/notes", "echoless discover --json"),
)
@click.argument(
    "folders", metavar="[FOLDER]...", nargs=-1, type=click.Path(path_type=Path, file_okay=False)
)
@json_option
def discover_command(*, folders: tuple[Path, ...], as_json: bool) -> None:
    """List the memory stores on this machine. Reads only.

    Without FOLDER it looks in the known places of programs below the home folder, and through the
    current project. With FOLDER it looks through these folders alone. `echoless audit --all` audits
    what is listed.
    """
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"{folder} is not a folder. Name a folder to look through.")
    listing = discover(folders)
    render.show_answer(listing.to_json(), _listing_blocks(listing), as_json=as_json)


def _listing_blocks(listing: Discovery) -> Iterator[Block]:
    """Yields the stores as a table, then why some are not counted, then what was passed over."""
    stores = listing.stores
    if not stores:
        yield say("No memory store was discovered.")
    else:
        headers = ("program", "kind", "store", "memories", "size", "last change")
        yield Table(headers, tuple(map(_row, stores)), frozenset({3, 4}))
        yield Gap()
        total = sum(store.memories or 0 for store in stores)
        yield say(
            strong(f"{count(len(stores), 'store')}, {count(total, 'memory', 'memories')} counted.")
        )
    by_problem: dict[str, list[str]] = {}
    for store in stores:
        if store.problem:
            by_problem.setdefault(store.problem, []).append(store.url)
    for problem, urls in by_problem.items():
        yield say(strong(names(urls, _NAMED)), f": {problem}", level=1)
    yield from _passed_blocks(listing)


def _row(store: ListedStore) -> tuple[str, ...]:
    """Returns the cells of a store."""
    return (
        store.program or "-",
        store.kind,
        store.url,
        "?" if store.memories is None else number(store.memories),
        _size(store.size) + ("+" if store.partial else ""),
        short_time(store.changed or "-"),
    )


def _size(size: int) -> str:
    """Returns a number of bytes with a unit."""
    value = float(size)
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"


def _passed_blocks(listing: Discovery) -> Iterator[Block]:
    """Yields what was passed over, and notes."""
    if not listing.passed and not listing.notes:
        return
    yield Gap()
    yield Heading("Passed over")
    for reason, times in listing.passed.items():
        yield say(f"{reason}: {number(times)}", level=1)
    for sentence in listing.notes:
        yield say(sentence, level=1)


# ------------------------------------------------------------------ audit --all


def audit_all_stores(
    names: Sequence[str],
    choices: Choices,
    extent: Extent,
    *,
    across: bool,
    limit: float | None,
    as_json: bool,
    markdown: bool,
) -> int:
    """Audits every store that `discover` lists and prints one report.

    Args:
        names: Folders to look through, and stores; all that `discover` lists by default.
        choices: Options of the command, without a namespace.
        extent: How much is shown of what stores have in common.
        across: Compare namespaces of different names between stores, too.
        limit: Share of redundant copies in a store above which the exit code says so.
        as_json: Print JSON.
        markdown: Print Markdown.

    Returns:
        The exit code.

    Raises:
        UsageError: A setting is wrong.
        InputError: Something named is not there, or is no store.
    """
    folders = [Path(name) for name in names if Path(name).is_dir()]
    stores = [named_store(name) for name in names if not Path(name).is_dir()]
    listing = discover(folders) if folders or not names else Discovery((), {}, ())
    common = resolve(layered(choices))
    with Bar(quiet=as_json) as bar:
        audits = audit_all(
            [*stores, *listing.stores],
            lambda store: settings_for(store, choices),
            common,
            across=across,
            progress=bar,
        )
    read = [(each.store.url, each.report) for each in audits.audits if each.report is not None]
    unread = [] if limit is None else [each for each in read if each[1].unread]
    over = [url for url, r in read if limit is not None and not r.unread and r.ratio > limit]
    OUTPUT.learn(audits.between.texts)
    if as_json:
        passed, notes = dict(listing.passed), list(listing.notes)
        render.show_json({**audits.to_json(), "passed_over": passed, "notes": notes})
    else:
        blocks = [*_audit_blocks(audits, extent), *_passed_blocks(listing)]
        if markdown:
            render.print_lines(rendering.markdown(blocks))
        else:
            render.show(blocks)
    for url in over:
        render.note(f"More of {url} is redundant than --fail-over allows.")
    for url, report in unread:
        render.note(f"Error: {url}: {unjudged(report)}")
    failed = audits.exit_code or (InputError.exit_code if unread else 0)
    return failed or (TOO_MUCH_REPETITION if over else 0)


def _audit_blocks(audits: AllAudits, extent: Extent) -> Iterator[Block]:
    """Yields the figures of all stores, failures, and what stores have in common."""
    yield Heading(f"Audit of {count(len(audits.audits), 'store')}")
    if not audits.audits:
        yield say("No memory store was discovered.")
    headers = ("store", "memories", "redundant", "share", "alike, kept apart")
    read = [each for each in audits.audits if each.report is not None]
    yield from off_blocks(next((e.report.off for e in read if e.report and e.report.off), ""))
    if read:
        yield Table(headers, tuple(map(_figures, read)), frozenset({1, 2, 3, 4}))
        for each in read:
            if each.report and each.report.unread:
                yield say(strong(each.store.url), f": {each.report.unread}")
        yield Gap()
        first = next((each for each in read if each.report and each.report.groups), read[0])
        url = first.store.url
        yield say("The groups of one store, and a plan for it:")
        yield command(command_line("audit", url))
        yield command(command_line("dedup", url))
        yield Gap()
    failed = [each for each in audits.audits if each.report is None]
    if failed:
        yield Heading(f"Not audited: {number(len(failed))}")
        for each in failed:
            problem = quoted(str(each.error)) if each.error else each.store.problem
            yield say(strong(each.store.url), f": {problem}", level=1)
        yield Gap()
    if len(read) > 1:
        yield from between_blocks(audits.between, extent, what="stores")


def _figures(each: StoreAudit) -> tuple[str, ...]:
    """Returns the figures of an audited store as cells."""
    report = each.report
    assert report is not None, "only stores that were read have figures"
    counts = report.counts
    return (
        each.store.url,
        number(counts["total"]),
        number(counts["redundant"]),
        percent(report.ratio),
        number(counts["held"]),
    )
