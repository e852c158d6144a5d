"""The report of an audit as one HTML file: no script, nothing from outside, printable.

The file carries its style and a Content-Security-Policy that allows that style alone, so a browser
runs nothing else even if a text of a memory got into the markup. `write_report` makes a private
file, because it holds texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import markupsafe

from echoless.core.destination import command_line, without_password
from echoless.core.document import Block, Extent, Heading, command
from echoless.core.masking import OUTPUT
from echoless.core.timestamps import moment_of_writing
from echoless.core.versions import __version__
from echoless.stores.base import Store
from echoless.stores.files import write_new
from echoless.web.page_blocks import markup
from echoless.web.templating import render
from echoless.workflows.audit.between import Between
from echoless.workflows.audit.report import Report
from echoless.workflows.audit.report_blocks import audit_blocks, between_blocks

if TYPE_CHECKING:
    from markupsafe import Markup

EXTENT: Final = Extent(
    top=100,
    members=10,
    pairs=20,
    explain=True,
    parts=60,
    repeat=lambda name, value: f"{name} {value}",
)
"""How much of a report a page shows: more than a terminal does."""

_DONE: Final = {
    "mark": "Hide the copies; every record stays in the store",
    "merge": "Merge the copies into the memories that stay",
    "delete": "Delete the copies",
}


def write_report(path: Path, page: str) -> None:
    """Writes a report to a new file that only its owner can read.

    Args:
        path: The file.
        page: Result of `report_page`.

    Raises:
        UsageError: The file exists.
        StoreError: The disk is full, read-only, or failed.
    """
    write_new(path, page.encode("utf-8"))


def report_page(
    store: Store,
    report: Report,
    extent: Extent = EXTENT,
    *,
    between: Between | None = None,
    made: str = "",
    name: str = "",
) -> str:
    """Returns the report of an audit as a page, with texts as they are now.

    Args:
        store: Open, the one that was audited; a memory that is gone since shows no text.
        report: The figures.
        extent: How much of it is written whole.
        between: What is said in several namespaces; None where nobody asked.
        made: When the report was made, ISO 8601; now if empty.
        name: The store as a person typed it; its URL if empty.
    """
    if between is not None:
        OUTPUT.learn(between.texts)
    name = without_password(name or report.url)
    blocks = (
        *audit_blocks(store, report, extent),
        *(() if between is None else between_blocks(between, extent, what="namespaces")),
        *_next_steps(report, name),
    )
    return render(
        "report.html",
        self_contained=True,
        name=name,
        profile=report.profile,
        sections=_sections(blocks),
        made=made or moment_of_writing(),
        version=__version__,
    )


def _next_steps(report: Report, name: str) -> Iterator[Block]:
    """Yields the commands to go on with."""
    yield Heading("How to go on")
    if report.groups:
        yield command(command_line("dedup", name), before="See what would be hidden, and why: ")
        yield command(command_line("review", name), before="Decide about each on a page: ")
        apply = command_line("dedup", name, "--apply")
        yield command(apply, before=f"{_DONE[report.action]}: ")
        yield command(command_line("undo", name, "last"), before="Bring all of it back: ")
    figures = command_line("audit", name, "--json")
    yield command(figures, before="Get every figure, group and pair as data: ")


# ------------------------------------------------------------------ blocks of a page


def _sections(blocks: Iterable[Block]) -> Sequence[tuple[str, Markup]]:
    """Returns the parts of a page by heading; the part before the first one has an empty title."""
    titles, parts = [""], [list[Block]()]
    for block in blocks:
        if isinstance(block, Heading):
            titles.append(block.text)
            parts.append([])
        else:
            parts[-1].append(block)
    bodies = (markupsafe.Markup("".join(markup(part))) for part in parts)
    return list(zip(titles, bodies, strict=True))
