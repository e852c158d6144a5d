"""The report of an audit as one HTML file: no script, nothing from outside, printable.

The file carries its style and a Content-Security-Policy that allows that style alone, so a browser
runs nothing else even if a text of a memory got into the markup. `write_report` makes a private
file, because it holds texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from echoless.core.commands import command_line
from echoless.core.destination import without_password
from echoless.core.masking import OUTPUT
from echoless.core.optional import require_module
from echoless.core.secret_masking import learn
from echoless.core.timestamps import moment_of_writing
from echoless.core.versions import __version__
from echoless.stores.base import Store
from echoless.stores.files import check_new, write_new
from echoless.web.report_charts import report_charts
from echoless.web.report_view import Extent, ReportView
from echoless.web.templating import render
from echoless.workflows.audit.between import Between
from echoless.workflows.audit.report import Report
from echoless.workflows.pairs.threshold_comparison import ThresholdComparison

_MOST_SKIPPED: Final = 20
"""Ids of skipped memories that are listed for each reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Additions:
    """What an audit may report beside the figures of its store.

    Attributes:
        between: What is said in several namespaces; None where nobody asked.
        second: What the full judge would hold back; None where it judged in the first place.
        made: When the report was made, ISO 8601; now if empty.
        name: The store as a person typed it; its URL if empty.
    """

    between: Between | None = None
    second: ThresholdComparison | None = None
    made: str = ""
    name: str = ""


def check_report_file(path: Path) -> None:
    """Checks that a report could be written, before the work that it takes.

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
        page: As `report_page` returns it.

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
    chosen, more = extent or Extent(), additions or Additions()
    view = ReportView(report, chosen)
    memories = store.get(view.ids)
    learn(memories.values())
    if more.between is not None:
        OUTPUT.learn(more.between.texts)
    view.fill(memories)
    name = without_password(more.name or report.url)
    return render(
        "report.html",
        self_contained=True,
        name=name,
        report=report,
        view=view,
        extent=chosen,
        charts=report_charts(report),
        between=more.between,
        second=more.second,
        made=more.made or moment_of_writing(),
        version=__version__,
        most_skipped=_MOST_SKIPPED,
        commands={
            "preview": command_line("dedup", name),
            "review": command_line("review", name),
            "apply": command_line("dedup", name, "--apply"),
            "undo": command_line("undo", name, "last"),
            "json": command_line("audit", name, "--json"),
        },
    )
