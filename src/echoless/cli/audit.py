"""The command audit: how much of a store, or of each of several, is repetition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final

import click

from echoless.cli import render
from echoless.cli.annotations import annotation_lines, summary_file
from echoless.cli.discovery import audit_all_stores, between_blocks, learn_between
from echoless.cli.document import Block
from echoless.cli.options import (
    count_option,
    examples,
    finding_options,
    gathered,
    json_option,
    mapping_options,
    settings_for,
)
from echoless.cli.progress import Bar
from echoless.cli.report import Extent, audit_blocks, comparison_blocks
from echoless.core.errors import TOO_MUCH_REPETITION, EcholessError, UsageError
from echoless.core.garbage_collection import uncollected
from echoless.core.model import Json
from echoless.core.profiles import WITHOUT_SECOND_LOOK
from echoless.core.run_notes import Progress
from echoless.core.settings import Choices, Settings
from echoless.stores import Store, open_store
from echoless.stores.base import Sectioned
from echoless.workflows.audit.between import Between, between_namespaces
from echoless.workflows.audit.incremental import audit_store
from echoless.workflows.audit.report import Report, audit, report_json, share_limit
from echoless.workflows.dedupe.pipeline import find
from echoless.workflows.dedupe.secret_masking import learn_answer
from echoless.workflows.pairs.threshold_comparison import ThresholdComparison, compare_with_judge

_WHOLE: Final = Extent(top=1_000, members=100, pairs=10)
"""How much of a report goes into the summary of a GitHub job, which takes a megabyte."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """How a report is printed.

    Attributes:
        extent: How much of it is shown.
        markdown: As Markdown.
        github: As annotations of a GitHub job, with the report in the summary of the job.
        as_json: As JSON.
    """

    extent: Extent
    markdown: bool
    github: bool
    as_json: bool

    def check(self) -> None:
        """Checks that one form was chosen.

        Raises:
            UsageError: Several were.
        """
        options = {"--json": self.as_json, "--github": self.github, "--markdown": self.markdown}
        chosen = [option for option, wanted in options.items() if wanted]
        if self.github and len(chosen) > 1:
            raise UsageError(f"{' and '.join(chosen)} do not go together. Choose one.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scope:
    """What is audited.

    Attributes:
        stores: As they were typed.
        every_store: Whether all stores get one report, those below folders among them.
        across: Whether namespaces are compared with each other, too.
    """

    stores: tuple[str, ...]
    every_store: bool
    across: bool

    def check(self, choices: Choices, form: _Form) -> None:
        """Checks that the options fit together.

        Raises:
            UsageError: They do not, or no store was named.
        """
        if not self.stores and not self.every_store:
            raise UsageError("No store was named. Name one, or audit all of them with --all.")
        if self.every_store and form.github:
            raise UsageError("--github and --all do not go together. Name the stores.")
        if self.every_store and choices.namespace is not None:
            raise UsageError("--namespace is of one store. Leave it out with --all.")
        if self.across and choices.namespace is not None:
            raise UsageError("--across compares namespaces, and --namespace leaves only one.")


@dataclass(frozen=True, slots=True)
class _Audited:
    """The report on one store, ready to be printed.

    Attributes:
        report: The figures.
        data: As JSON; empty where it is not wanted.
        blocks: For a person; none where JSON is wanted.
        annotations: Lines for a GitHub job; none where they are not wanted.
    """

    report: Report
    data: dict[str, Json]
    blocks: Sequence[Block]
    annotations: Sequence[str]


@click.command(
    "audit",
    epilog=examples(
        "echoless audit agent.db --namespace work --top 3",
        "echoless audit agent.db --fail-over 5% --json > audit.json",
        "echoless audit agent.db --markdown > audit.md",
        "echoless audit a.jsonl b.jsonl --fail-over 0%",
        "echoless audit --all",
        "echoless audit --all . agent.db",
    ),
)
@click.argument("stores", metavar="[STORE]...", nargs=-1)
@mapping_options
@finding_options
@count_option("--top", default=10, explained="Show the N largest groups.")
@count_option("--members", default=10, explained="Show N members of each of them.")
@count_option(
    "--pairs", default=3, explained="Show N pairs of each kind that looks alike and stays apart."
)
@click.option(
    "--fail-over",
    metavar="SHARE",
    help="End with exit code 10 if more than this share of a store is redundant: 5% or 0.05.",
)
@click.option(
    "--all",
    "every_store",
    is_flag=True,
    help="Audit every store that `echoless discover` lists, or those below folders and the stores "
    "named instead, and report what is said in several of them.",
)
@click.option(
    "--across",
    is_flag=True,
    help="Report, too, what is said in several namespaces. Only a report: they may be different "
    "users, and a plan never goes across them.",
)
@click.option("--markdown", is_flag=True, help="Print the report as Markdown.")
@click.option(
    "--github",
    is_flag=True,
    help="For a GitHub job: print a warning for each redundant copy, at its line where the store "
    "is a text file, and add the report to the file GITHUB_STEP_SUMMARY names.",
)
@json_option
@gathered("extent", Extent, "top", "members", "pairs")
@gathered("form", _Form, *(field.name for field in fields(_Form)))
@gathered("scope", _Scope, "stores", "every_store", "across")
@uncollected()
def audit_command(*, scope: _Scope, choices: Choices, fail_over: str | None, form: _Form) -> int:
    """Report how much of STORE is repetition. Reads only.

    The report gives the number of redundant copies, the share they have, what they cost in tokens,
    the largest groups with reason and differences, and apart from these what only looks like a
    duplicate: updates, contradictions, siblings, and pairs a person should look at.

    Of several stores each gets a report of its own; nothing is compared between them, unless --all
    asks for it: then all get one report. A store that cannot be read is reported, the others go on,
    and its exit code is kept.

    Where the profile trusts a similarity, as those of other programs do, the report ends with a
    second look: which of these pairs the judge that reads the texts would hold back.
    """
    form.check()
    scope.check(choices, form)
    limit = None if fail_over is None else share_limit(fail_over)
    if scope.every_store:
        return audit_all_stores(
            scope.stores,
            choices,
            form.extent,
            across=scope.across,
            limit=limit,
            as_json=form.as_json,
            markdown=form.markdown,
        )
    return _audit_each(scope, choices, fail_over, limit, form)


def _audit_each(
    scope: _Scope, choices: Choices, fail_over: str | None, limit: float | None, form: _Form
) -> int:
    """Prints a report for each store and returns the exit code."""
    stores = scope.stores
    answers: list[dict[str, Json]] = []
    failed = over = 0
    for store in stores:
        try:
            audited = _audited(store, choices, form, across=scope.across)
        except EcholessError as problem:
            if len(stores) == 1:
                raise
            render.note(f"Error: {store}: {problem}")
            answers.append({"store": store, "error": render.reason(str(problem))})
            failed = failed or problem.exit_code
            continue
        answers.append(audited.data)
        _print(audited, form)
        if limit is not None and audited.report.ratio > limit:
            over = TOO_MUCH_REPETITION
            _say_over(audited.report, fail_over, form, store if len(stores) > 1 else "")
    if form.as_json:
        render.show_json(answers[0] if len(stores) == 1 else {"stores": list(answers)})
    return failed or over


def _audited(store: str, choices: Choices, form: _Form, *, across: bool) -> _Audited:
    """Reads one store and returns what is printed of it."""
    with open_store(store) as opened:
        settings = settings_for(opened, choices)
        second: ThresholdComparison | None = None
        with Bar(quiet=form.as_json) as bar:
            if settings.profile.judge == "full":
                report = audit_store(opened, settings, progress=bar)
            else:
                findings = find(opened, settings, progress=bar)
                report = audit(findings)
                if settings.profile.name not in WITHOUT_SECOND_LOOK:
                    second = compare_with_judge(findings, encoder=choices.encoder or "auto")
            wider = _across(opened, settings, bar, asked=across)
        data = report_json(report) if form.as_json else {}
        learn_answer(opened, data)
        extent = _WHOLE if form.github else form.extent
        blocks = [] if form.as_json else audit_blocks(opened, report, extent)
        warnings = tuple(annotation_lines(opened, store, report)) if form.github else ()
    if wider is not None:
        learn_between(wider)
    if form.as_json:
        data |= {"across": wider.to_json()} if wider else {}
        data["second_look"] = second.to_json() if second else None
    else:
        blocks.extend(between_blocks(wider, extent, what="namespaces") if wider else ())
        blocks.extend(comparison_blocks(second))
    return _Audited(report, data, blocks, warnings)


def _across(store: Store, settings: Settings, progress: Progress, *, asked: bool) -> Between | None:
    """Returns what a store says in several namespaces; None where nobody asked.

    Sections of one document need no asking, if there are several; namespaces that may be users do.
    """
    if settings.namespace is not None:
        return None
    sectioned = isinstance(store, Sectioned) and store.sectioned and len(store.namespaces()) > 1
    return between_namespaces(store, settings, progress=progress) if asked or sectioned else None


def _print(audited: _Audited, form: _Form) -> None:
    """Prints the report on one store; JSON is printed by the caller, for all stores at once."""
    if form.github:
        render.print_lines(audited.annotations)
        if (summary := summary_file()) is not None:
            _append(summary, "\n".join(render.markdown(audited.blocks)) + "\n")
    elif form.markdown:
        render.print_lines(render.markdown(audited.blocks))
    elif not form.as_json:
        render.show(audited.blocks)


def _append(path: Path, text: str) -> None:
    """Adds a report to the summary of a GitHub job.

    Raises:
        UsageError: The file cannot be written.
    """
    try:
        with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as problem:
        raise UsageError(
            f"GITHUB_STEP_SUMMARY names {path}, which cannot be written ({problem.strerror})."
        ) from problem


def _say_over(report: Report, fail_over: str | None, form: _Form, store: str) -> None:
    """Prints that more of a store is redundant than was allowed; JSON has the figure."""
    if not form.as_json:
        named = f"{store}: " if store else ""
        render.note(f"{named}{report.ratio:.2%} is redundant, more than the limit of {fail_over}.")
