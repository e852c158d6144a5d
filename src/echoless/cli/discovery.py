"""The command `discover`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from echoless.cli import render
from echoless.cli.options import examples, json_option
from echoless.core.document import (
    Block,
    Gap,
    Heading,
    Table,
    count,
    names,
    number,
    say,
    short_time,
    strong,
)
from echoless.core.errors import UsageError
from echoless.core.groups import grouped
from echoless.workflows.discovery.search import Discovery, ListedStore, discover

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
    by_problem = grouped((store.problem, store.url) for store in stores if store.problem)
    for problem, urls in by_problem.items():
        yield say(strong(names(urls, _NAMED)), f": {problem}", level=1)
    yield from passed_blocks(listing)


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


def passed_blocks(listing: Discovery) -> Iterator[Block]:
    """Yields what was passed over, and notes."""
    if not listing.passed and not listing.notes:
        return
    yield Gap()
    yield Heading("Passed over")
    for reason, times in listing.passed.items():
        yield say(f"{reason}: {number(times)}", level=1)
    for sentence in listing.notes:
        yield say(sentence, level=1)
