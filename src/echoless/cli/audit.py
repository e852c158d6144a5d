"""The command audit: how much of a store, or of each of several, is repetition."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from click.core import ParameterSource

from echoless.cli import render
from echoless.cli.options import (
    SettingsCommand,
    check_texts,
    complete_path,
    count_option,
    examples,
    explain_option,
    finding_options,
    gathered,
    json_option,
    mapping_options,
    settings_for,
    texts_option,
    with_option,
)
from echoless.cli.progress import Bar
from echoless.core.destination import without_password
from echoless.core.document import Block, Extent, Heading, say
from echoless.core.errors import TOO_MUCH_REPETITION, EcholessError, InputError, UsageError
from echoless.core.garbage_collection import uncollected
from echoless.core.masking import OUTPUT
from echoless.core.model import Json
from echoless.core.optional import lazy_module
from echoless.core.rendering import markdown, reason
from echoless.core.run_notes import Progress
from echoless.core.settings import Choices, Settings
from echoless.stores import Store, open_store
from echoless.stores.files import refuse_leaving
from echoless.workflows.audit.answer_cache import AnswerCache

if TYPE_CHECKING:
    from echoless.cli import annotations as github
    from echoless.cli import discovery
    from echoless.web import report as html_report
    from echoless.workflows.audit import (
        audit_comparison,
        between,
        earlier_audit,
        first_screen,
        incremental,
        report_blocks,
    )
    from echoless.workflows.audit import report as reports
    from echoless.workflows.audit.audit_comparison import AuditComparison
    from echoless.workflows.audit.between import Between
    from echoless.workflows.audit.earlier_audit import EarlierAnswer
    from echoless.workflows.audit.report import Report
    from echoless.workflows.dedupe import secret_masking
else:  # an answer that is known needs none of them
    audit_comparison = lazy_module("echoless.workflows.audit.audit_comparison")
    between = lazy_module("echoless.workflows.audit.between")
    discovery = lazy_module("echoless.cli.discovery")
    earlier_audit = lazy_module("echoless.workflows.audit.earlier_audit")
    first_screen = lazy_module("echoless.workflows.audit.first_screen")
    github = lazy_module("echoless.cli.annotations")
    html_report = lazy_module("echoless.web.report")
    incremental = lazy_module("echoless.workflows.audit.incremental")
    report_blocks = lazy_module("echoless.workflows.audit.report_blocks")
    reports = lazy_module("echoless.workflows.audit.report")
    secret_masking = lazy_module("echoless.workflows.dedupe.secret_masking")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureLimits:
    """When the exit code says that there is too much repetition, and the audit to compare with.

    Attributes:
        fail_over: Largest share that is allowed, as it was typed; None for any.
        compare: File with an earlier answer; None to compare with nothing.
        fail_worse: Whether the share may not have risen since.
    """

    fail_over: str | None
    compare: Path | None
    fail_worse: bool

    def check(self, *, every_store: bool) -> None:
        """Checks that the options fit together, and to what is audited.

        Args:
            every_store: Whether all stores get one report.

        Raises:
            UsageError: They do not.
        """
        if self.fail_worse and self.compare is None:
            raise UsageError("--fail-worse needs an earlier audit: add --compare OLD.json.")
        if self.compare is not None and every_store:
            raise UsageError("--compare and --all do not go together. Name the stores.")

    @property
    def share(self) -> float | None:
        """Returns the share of `fail_over`, 0 to 1.

        Raises:
            UsageError: It is none.
        """
        return None if self.fail_over is None else reports.share_limit(self.fail_over)

    def earlier(self) -> EarlierAnswer | None:
        """Reads the earlier answer, if one was named.

        Raises:
            InputError: It cannot be read.
        """
        return None if self.compare is None else earlier_audit.read_earlier_answer(self.compare)

    def exceeded(self, report: Report, compared: AuditComparison | None) -> list[str]:
        """Returns why there is too much repetition in a store; empty where there is not."""
        limit, share = self.share, f"{report.ratio:.2%} is redundant"
        reasons = []
        if limit is not None and report.ratio > limit:
            reasons.append(f"{share}, more than the limit of {self.fail_over}.")
        if self.fail_worse and compared is not None and compared.is_worse:
            before = f"{compared.share.before:.2%}"
            reasons.append(f"{share}, and in {self.compare} it was {before}: it got worse.")
        return reasons


NO_LIMITS: Final = FailureLimits(fail_over=None, compare=None, fail_worse=False)


def compared_with(
    earlier: EarlierAnswer | None, report: Report, *, alone: bool
) -> AuditComparison | None:
    """Returns what changed since an earlier answer; None, and a note, where it has no such store.

    Args:
        earlier: None where nothing is compared.
        report: Of today.
        alone: Whether this is the only store of the command.

    Raises:
        InputError: It is the only store, and an answer about several does not name it.
    """
    if earlier is None:
        return None
    audit_then = earlier.of(report.url, alone=alone)
    if audit_then is None:
        render.note(f"{earlier.path} has no audit of {report.url}, so it is not compared.")
        return None
    return audit_comparison.compare_audits(report, audit_then)


_COUNTS: Final = ("top", "members", "pairs")
"""Options that say how much of a report is shown."""

_REPORT: Final = Extent(top=10, members=10, pairs=3)
"""How much of the whole report a terminal shows."""

_SUMMARY: Final = Extent(top=1_000, members=100, pairs=10)
"""How much of a report goes into the summary of a GitHub job, which takes a megabyte."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """How a report is printed.

    Attributes:
        extent: How much of it is shown.
        format: `markdown`, or `github`: annotations of a GitHub job, and the report in its summary;
            for a terminal if None.
        as_json: As JSON.
        html_file: New file for a report as a page, or None.
        texts: With the texts of the memories that the JSON names.
    """

    extent: Extent
    format: str | None
    as_json: bool
    html_file: Path | None
    texts: bool

    def check(self) -> None:
        """Checks that at most one output form was chosen.

        Raises:
            UsageError: Several forms were chosen, or texts in another form than JSON.
        """
        check_texts(wanted=self.texts, as_json=self.as_json)
        if self.github and self.as_json:
            raise UsageError("--json and --format github do not go together. Choose one.")
        if self.html_file is not None:
            html_report.check_report_file(self.html_file)

    @property
    def github(self) -> bool:
        """Returns whether a GitHub job reads the answer."""
        return self.format == "github"

    @property
    def is_plain(self) -> bool:
        """Checks whether the answer is the report as JSON, and nothing else."""
        return self.as_json and not (self.texts or self.html_file)

    @property
    def page_alone(self) -> bool:
        """Checks whether the HTML page is the only output; one sentence is printed with it then."""
        return self.html_file is not None and not (self.as_json or self.format)

    def extent_of(self, whole: Extent) -> Extent:
        """Returns how much of a whole report is shown: so much, unless options say how much."""
        source = click.get_current_context().get_parameter_source
        given = {
            name: getattr(self.extent, name)
            for name in _COUNTS
            if source(name) is not ParameterSource.DEFAULT
        }
        return replace(whole, **given)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scope:
    """What is audited.

    Attributes:
        stores: Addresses of the stores, as typed.
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
        if form.html_file is not None and (self.every_store or len(self.stores) > 1):
            raise UsageError("--html writes a page about one store. Name one; call it for each.")
        if self.every_store and form.texts:
            raise UsageError("--texts and --all do not go together. Name the stores.")
        if self.every_store and form.github:
            raise UsageError("--format github and --all do not go together. Name the stores.")
        if self.every_store and choices.namespace is not None:
            raise UsageError("--namespace is of one store. Leave it out with --all.")
        if self.across and choices.namespace is not None:
            raise UsageError("--across compares namespaces, and --namespace leaves only one.")


@dataclass(frozen=True, slots=True)
class _Audited:
    """The report on one store, ready to be printed.

    Attributes:
        report: The figures.
        compared: With an earlier audit; None without one.
        data: As JSON; empty where it is not wanted.
        blocks: For a person; none where JSON is wanted.
        annotations: Lines for a GitHub job; none where they are not wanted.
        page: As HTML; empty where it is not wanted.
        lasting: Whether the next audit of the same files would say the same.
    """

    report: Report
    compared: AuditComparison | None
    data: dict[str, Json]
    blocks: Sequence[Block]
    annotations: Sequence[str]
    page: str
    lasting: bool


@click.command(
    "audit",
    cls=SettingsCommand,
    epilog=examples(
        "echoless audit agent.db --namespace work --top 3",
        "echoless audit agent.db --fail-over 5% --json > audit.json",
        "echoless audit agent.db --compare audit.json --fail-worse",
        "echoless audit agent.db --format markdown > audit.md",
        "echoless audit agent.db --html report.html",
        "echoless audit a.jsonl b.jsonl --fail-over 0%",
        "echoless audit --all",
        "echoless audit --all . agent.db",
    ),
)
@click.argument("stores", metavar="[STORE]...", nargs=-1, shell_complete=complete_path)
@mapping_options
@finding_options
@count_option("--top", default=3, explained="Show the N largest groups.")
@count_option("--members", default=2, explained="Show N members of each of them.")
@count_option(
    "--pairs", default=3, explained="Show N pairs of each kind that looks alike and stays apart."
)
@click.option(
    "--fail-over",
    metavar="SHARE",
    help="End with exit code 10 if more than this share of a store is redundant: 5% or 0.05.",
)
@click.option(
    "--compare",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="OLD.json",
    help="Say what got better or worse since an earlier answer of `audit --json`.",
)
@click.option(
    "--fail-worse",
    is_flag=True,
    help="With --compare: end with exit code 10 if the redundant share of a store rose since.",
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
@click.option(
    "--format",
    type=click.Choice(("markdown", "github")),
    help="Print the report as Markdown; or, for a GitHub job, print a warning for each redundant "
    "copy, at its line where the store is a text file, and add the report to the file "
    "GITHUB_STEP_SUMMARY names.",
)
@click.option(
    "--html",
    "html_file",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the report to a new FILE as a page with charts, for any browser. It shows 100 "
    "groups, and 20 pairs of each kind, unless --top and --pairs say how many.",
)
@json_option
@texts_option
@explain_option
@gathered("extent", Extent, *_COUNTS, "explain")
@gathered("form", _Form)
@gathered("limits", FailureLimits)
@gathered("scope", _Scope)
@uncollected()
def audit_command(*, scope: _Scope, choices: Choices, limits: FailureLimits, form: _Form) -> int:
    """Report how much of STORE is repetition. Reads only.

    The first screen says how much is repetition, what is out of date, what is said twice, what may
    not both be true, and which command comes next. --explain prints the whole report: all figures,
    every reason, and what differs in each text.

    Of several stores each gets a report of its own; nothing is compared between them, unless --all
    asks for it: then all get one report. A store that cannot be read is reported, the others go on,
    and its exit code is kept.
    """
    form = replace(form, extent=replace(form.extent, repeat=with_option))
    form.check()
    scope.check(choices, form)
    limits.check(every_store=scope.every_store)
    limit = limits.share
    if scope.every_store:
        return discovery.audit_all_stores(
            scope.stores,
            choices,
            form.extent,
            across=scope.across,
            limit=limit,
            as_json=form.as_json,
            markdown=form.format == "markdown",
        )
    return _audit_each(scope, choices, limits, form)


def _audit_each(scope: _Scope, choices: Choices, limits: FailureLimits, form: _Form) -> int:
    """Prints a report for each store and returns the exit code."""
    stores, earlier = scope.stores, limits.earlier()
    alone = len(stores) == 1 and not scope.across
    plain = alone and form.is_plain and limits == NO_LIMITS and OUTPUT.is_new
    answers: list[dict[str, Json]] = []
    failed, codes = 0, {0}
    for store in stores:
        cache = AnswerCache(store, choices)
        if plain and (text := cache.text()):
            click.echo(text)
            return 0
        try:
            audited = _audited(store, choices, form, scope, earlier, cache)
        except EcholessError as problem:
            if len(stores) == 1:
                raise
            render.note(f"Error: {store}: {problem}")
            answers.append({"store": store, "error": reason(str(problem))})
            failed = failed or problem.exit_code
            continue
        answers.append(audited.data)
        if form.html_file is not None:
            html_report.write_report(form.html_file, audited.page)
        _print(audited, form)
        stale = audited.report.stale
        if audited.lasting and (not plain or (stale and stale.is_fleeting)):
            incremental.keep_report(cache, audited.report)
        codes.add(_say_over(audited, limits, form, store if len(stores) > 1 else ""))
    if form.as_json:
        text = render.json_line(answers[0] if len(stores) == 1 else {"stores": answers}, indent=2)
        click.echo(text)
        if plain and audited.lasting and stale:
            cache.keep_text(text, stale)
    return failed or min(codes - {0}, default=0)


def _audited(
    store: str,
    choices: Choices,
    form: _Form,
    scope: _Scope,
    earlier: EarlierAnswer | None,
    cache: AnswerCache,
) -> _Audited:
    """Audits one store and returns the results to print."""
    if form.github:
        refuse_leaving(Path(store), Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd()))
    with open_store(store) as opened:
        settings = settings_for(opened, choices)
        with Bar(quiet=form.as_json) as bar:
            report = incremental.audit_file(opened, settings, cache, progress=bar)
            wider = _across(opened, settings, bar, asked=scope.across)
        if wider is not None:
            OUTPUT.learn(wider.texts)
        compared = compared_with(earlier, report, alone=len(scope.stores) == 1)
        page = ""
        if form.html_file is not None:
            more = html_report.Additions(between=wider, name=store)
            extent = form.extent_of(html_report.EXTENT)
            page = html_report.report_page(opened, report, extent, more)
        data: dict[str, Json] = {}
        blocks: Sequence[Block] = ()
        if form.as_json:
            data = reports.report_json(report) | ({"across": wider.to_json()} if wider else {})
            secret_masking.learn_answer(opened, data)
            if earlier is not None:
                data["compared"] = compared.to_json() if compared else None
            if form.texts:
                data["texts"] = secret_masking.answer_texts(data, opened.get)
        else:
            blocks = _blocks(opened, report, wider, form, store)
            if earlier is not None and compared is not None:
                blocks = [*audit_comparison.compared_blocks(compared, str(earlier.path)), *blocks]
        warnings = tuple(github.annotation_lines(opened, store, report)) if form.github else ()
        lasting = incremental.is_lasting(opened, settings, report)
    return _Audited(report, compared, data, blocks, warnings, page, lasting)


def _blocks(
    store: Store,
    report: Report,
    wider: Between | None,
    form: _Form,
    name: str,
) -> Sequence[Block]:
    """Returns the report for a person: a sentence where a file has all of it."""
    if form.page_alone:
        return [*report_blocks.answer_blocks(report), say(f"The report is in {form.html_file}.")]
    title = Heading(f"Audit of {without_password(name)}")
    if form.format is None and not form.extent.explain:
        return [title, *first_screen.first_screen(store, report, form.extent, name, wider)]
    whole = replace(_REPORT, explain=form.extent.explain, repeat=form.extent.repeat)
    extent = _SUMMARY if form.github else form.extent_of(whole)
    return [
        title,
        *report_blocks.stored_audit_blocks(store, report, extent),
        *(report_blocks.between_blocks(wider, extent, what="namespaces") if wider else ()),
    ]


def _across(store: Store, settings: Settings, progress: Progress, *, asked: bool) -> Between | None:
    """Returns what a store says in several namespaces; None where nobody asked.

    Sections of one document need no asking, if there are several; namespaces that may be users do.
    """
    if settings.namespace is not None:
        return None
    sectioned = store.capabilities.sectioned and len(store.namespaces()) > 1
    return (
        between.between_namespaces(store, settings, progress=progress)
        if asked or sectioned
        else None
    )


def _print(audited: _Audited, form: _Form) -> None:
    """Prints the report on one store; JSON is printed by the caller, for all stores at once."""
    if form.github:
        render.print_lines(audited.annotations)
        if (summary := github.summary_file()) is not None:
            _append(summary, "\n".join(markdown(audited.blocks)) + "\n")
    elif form.format == "markdown":
        render.print_lines(markdown(audited.blocks))
    elif not form.as_json:
        render.show(audited.blocks)
    if form.html_file is not None and not form.page_alone:
        render.note(f"The report is in {form.html_file}.")


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


def _say_over(audited: _Audited, limits: FailureLimits, form: _Form, store: str) -> int:
    """Prints why a store fails its limits, and returns the exit code; JSON has the figures."""
    where = f"{store}: " if store else ""
    option = "--fail-worse" if limits.share is None else "--fail-over"
    if audited.report.unread and (limits.fail_worse or limits.share is not None):
        render.note(f"Error: {where}{reports.unjudged(audited.report, option)}")
        return InputError.exit_code
    reasons = limits.exceeded(audited.report, audited.compared)
    for sentence in () if form.as_json else reasons:
        render.note(where + sentence)
    return TOO_MUCH_REPETITION if reasons else 0
