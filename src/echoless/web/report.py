"""The report of an audit as one HTML file: no script, nothing from outside, printable.

The file carries its style and a Content-Security-Policy that allows that style alone, so a browser
runs nothing else even if a text of a memory got into the markup. `write_report` makes a private
file, because it holds texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from echoless.core.destination import command_line, without_password
from echoless.core.document import Block, Extent, Heading, command
from echoless.core.masking import OUTPUT
from echoless.core.optional import lazy_module, require_module
from echoless.core.rendering import markup
from echoless.core.timestamps import moment_of_writing
from echoless.core.versions import __version__
from echoless.stores.base import Store
from echoless.stores.files import check_new, write_new
from echoless.web.page_blocks import element
from echoless.web.templating import render
from echoless.workflows.audit.between import Between
from echoless.workflows.audit.report import Report
from echoless.workflows.audit.report_blocks import between_blocks, stored_audit_blocks

if TYPE_CHECKING:
    import markupsafe
    from markupsafe import Markup
else:
    markupsafe = lazy_module("markupsafe")

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Additions:
    """Further parts of an audit report, beside the figures of its store.

    Attributes:
        between: What is said in several namespaces; None where nobody asked.
        made: When the report was made, ISO 8601; now if empty.
        name: The store as a person typed it; its URL if empty.
    """

    between: Between | None = None
    made: str = ""
    name: str = ""


def check_report_file(path: Path) -> None:
    """Checks that a report can be written, before the work of making it.

    Args:
        path: The file to be.

    Raises:
        MissingExtra: Jinja2 is not installed.
        UsageError: The file exists, or its folder does not.
    """
    require_module("jinja2", "The HTML report", "review")
    check_new(path, "report")


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
    extent: Extent | None = None,
    additions: Additions | None = None,
) -> str:
    """Returns the report of an audit as a page, with texts as they are now.

    Args:
        store: Open, the one that was audited; a memory that is gone since shows no text.
        report: The figures.
        extent: How much of it is written whole.
        additions: What else the audit reports.

    Raises:
        MissingExtra: Jinja2 is not installed.
    """
    require_module("jinja2", "The HTML report", "review")
    chosen, additions = extent or EXTENT, additions or Additions()
    between = additions.between
    if between is not None:
        OUTPUT.learn(between.texts)
    name = without_password(additions.name or report.url)
    blocks = (
        *stored_audit_blocks(store, report, chosen),
        *(() if between is None else between_blocks(between, chosen, what="namespaces")),
        *_next_steps(report, name),
    )
    return render(
        "report.html",
        self_contained=True,
        name=name,
        profile=report.profile,
        sections=_sections(blocks),
        made=additions.made or moment_of_writing(),
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


@dataclass(frozen=True, slots=True)
class _Section:
    """A part of the page.

    Attributes:
        title: Heading of the part; empty for the part before the first heading.
        body: Content below the heading.
    """

    title: str
    body: Markup


def _sections(blocks: Iterable[Block]) -> Sequence[_Section]:
    """Returns the parts of a page, one for each heading."""
    titles, parts = [""], [list[Block]()]
    for block in blocks:
        if isinstance(block, Heading):
            titles.append(block.text)
            parts.append([])
        else:
            parts[-1].append(block)
    bodies = (markupsafe.Markup("".join(markup(part, element))) for part in parts)
    return [_Section(title, body) for title, body in zip(titles, bodies, strict=True)]
