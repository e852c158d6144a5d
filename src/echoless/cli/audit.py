"""The command audit: how much of a store, or of each of several, is repetition."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from click.core import ParameterSource

from echoless.cli import render
from echoless.cli.options import (
    CommandState,
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
    share,
    texts_option,
    with_option,
)
from echoless.cli.progress import Bar
from echoless.core.destination import without_password
from echoless.core.document import Block, Extent, Heading, count, flat, quoted, say
from echoless.core.errors import OVER_LIMIT, InputError, MissingExtra, UsageError
from echoless.core.garbage_collection import uncollected
from echoless.core.masking import OUTPUT, learn
from echoless.core.model import Json, Memory
from echoless.core.rendering import markdown, readable
from echoless.core.settings import Choices, layered, resolve
from echoless.stores import Store, open_store
from echoless.stores.files import check_new, refuse_leaving
from echoless.workflows.audit.answer_cache import AnswerCache, is_lasting

if TYPE_CHECKING:
    from echoless.workflows.audit.all_stores import StoreAudit
    from echoless.workflows.audit.between import Between
    from echoless.workflows.audit.report import Report

_COUNTS: Final = ("top", "members", "pairs")
"""Options that say how much of a report is shown."""

_REPORT: Final = Extent(top=10, members=10, pairs=3)
"""How much of the whole report a terminal shows."""

_SUMMARY: Final = Extent(top=1_000, members=100, pairs=10)
"""How much of a report goes into the summary of a GitHub job, which takes a megabyte."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """What was asked for on the command line.

    Attributes:
        stores: Addresses of the stores, as typed.
        every_store: Whether all stores get one report, those below folders among them.
        within: Seconds after which no further store is begun; None for any number.
        choices: Settings that were chosen.
        fail_over: Largest share that is allowed, 0 to 1; None for any.
        top: Largest groups that are shown.
        members: Members of each of these groups.
        pairs: Pairs of each kind.
        explain: Whether the whole report is shown.
        format: `markdown`, or `github`: annotations of a GitHub job, and the report in its summary;
            for a terminal if None.
        html_file: New file for a report as a page, or None.
        as_json: As JSON.
        texts: With the texts of the memories that the JSON names.
    """

    stores: tuple[str, ...]
    every_store: bool
    within: float | None
    choices: Choices
    fail_over: float | None
    top: int
    members: int
    pairs: int
    explain: bool
    format: str | None
    html_file: Path | None
    as_json: bool
    texts: bool

    def check(self) -> None:
        """Checks that the options fit together, before the long work.

        Raises:
            UsageError: They do not, or no store was named.
        """
        check_texts(wanted=self.texts, as_json=self.as_json)
        every, named, timed = self.every_store, self.choices.namespace is not None, self.within
        pages = self.html_file is not None and (every or len(self.stores) > 1)
        nothing, both = not (every or self.stores), self.github and self.as_json
        refusals = {
            "--json and --format github do not go together. Choose one.": both,
            "No store was named. Name one, or audit all of them with --all.": nothing,
            "--html writes a page about one store. Name one; call it for each.": pages,
            "--texts and --all do not go together. Name the stores.": every and self.texts,
            "--format github and --all do not go together. Name the stores.": every and self.github,
            "--namespace is of one store. Leave it out with --all.": every and named,
            "--within is for --all. One store is audited whole.": timed is not None and not every,
        }
        for sentence, refused in refusals.items():
            if refused:
                raise UsageError(sentence)
        if self.html_file is not None:
            check_new(self.html_file, "report")

    @property
    def is_kept(self) -> bool:
        """Checks whether what is printed of a store is all there is to the answer about it."""
        more = self.html_file or self.fail_over is not None or self.github
        return not more and (len(self.stores) == 1 or not self.as_json)

    @property
    def github(self) -> bool:
        """Returns whether a GitHub job reads the answer."""
        return self.format == "github"

    @property
    def page_alone(self) -> bool:
        """Checks whether the HTML page is the only output; one sentence is printed with it then."""
        return self.html_file is not None and not (self.as_json or self.format)

    @property
    def extent(self) -> Extent:
        """Returns how much the first screen shows."""
        counts = {name: getattr(self, name) for name in (*_COUNTS, "explain")}
        return Extent(**counts, repeat=with_option)

    def extent_of(self, whole: Extent) -> Extent:
        """Returns how much of a whole report is shown: so much, unless options say how much."""
        source = click.get_current_context().get_parameter_source
        given = [name for name in _COUNTS if source(name) is not ParameterSource.DEFAULT]
        return replace(whole, **{name: getattr(self, name) for name in given})


@click.command(
    "audit",
    cls=SettingsCommand,
    epilog=examples(
        "echoless audit agent.db --namespace work --top 3",
        "echoless audit agent.db --fail-over 5% --json > audit.json",
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
    callback=share,
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
    "--within",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    help="With --all: begin no further store after so many seconds; what was not looked at is "
    "named.",
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
@gathered("request", _Request)
@uncollected()
def audit_command(*, request: _Request) -> int:
    """Report how much of STORE is repetition. Reads only.

    The first screen says how much is repetition, what is out of date, what is said twice, what may
    not both be true, and which command comes next. --explain prints the whole report: all figures,
    every reason, and what differs in each text.

    Of several stores each gets a report of its own; nothing is compared between them, unless --all
    asks for it: then all get one report. A store that cannot be read is reported, the others go on,
    and its exit code is kept.
    """
    request.check()
    if request.every_store:
        return _audit_every(request)
    codes = {0}
    state = click.get_current_context().find_object(CommandState)
    form = (state.typed, render.look()) if state and request.is_kept else None

    def answer(store: str) -> dict[str, Json]:
        cache = AnswerCache(store, request.choices, form)
        if text := cache.text():
            render.put(text)
            return {}
        data, printed, report, lasting = _audit(request, store, cache)
        render.put(printed)
        codes.add(_exit_code(request, report, f"{store}: " if len(request.stores) > 1 else ""))
        if lasting is not None:
            # numbers of masked secrets go on from one store to the next
            cache.keep(lasting, printed if len(request.stores) == 1 or not OUTPUT.count else "")
        return data

    answers, failed = render.answers_of_each(request.stores, answer)
    if request.as_json and len(answers) > 1:
        render.show_json({"stores": list(answers)})
    return failed or min(codes - {0}, default=0)


def _audit_every(request: _Request) -> int:
    """Audits the stores and folders named, or all that `discover` lists; prints one report."""
    from echoless.cli.discovery import passed_blocks
    from echoless.workflows.audit.all_stores import all_stores_blocks, audit_all, store_blocks
    from echoless.workflows.discovery.search import Discovery, discover, named_store

    folders = [Path(name) for name in request.stores if Path(name).is_dir()]
    stores = [named_store(name) for name in request.stores if not Path(name).is_dir()]
    listing = discover(folders) if folders or not stores else Discovery((), {}, ())
    every = [*stores, *listing.stores]
    title = Heading(f"Audit of {count(len(every), 'store')}")
    live, lacking = not (request.as_json or request.format), {""}
    if live:
        render.show([title])
    with Bar(quiet=request.as_json) as bar:

        def tell(audit: StoreAudit) -> None:
            if live:
                bar.pause()
                render.show(store_blocks(audit, lacking))

        audits, between = audit_all(
            every,
            lambda store: settings_for(store, request.choices),
            resolve(layered(request.choices)),
            within=request.within,
            progress=bar,
            tell=tell,
        )
    OUTPUT.learn(between.texts)
    if request.as_json:
        render.show_json(
            {
                "stores": [each.to_json() for each in audits],
                "between": between.to_json(),
                "passed_over": dict(listing.passed),
                "notes": list(listing.notes),
            }
        )
    else:
        blocks = [*all_stores_blocks(audits, between, request.extent), *passed_blocks(listing)]
        if request.format == "markdown":
            rows = [block for each in audits for block in store_blocks(each, lacking)]
            render.print_lines(markdown([title, *rows, *blocks]))
        else:
            render.show(blocks)
    return _code_of_every(request, audits)


def _code_of_every(request: _Request, audits: Sequence[StoreAudit]) -> int:
    """Prints which stores fail the limit, and returns the exit code for all."""
    read = ((each.report, f"{each.store.url}: ") for each in audits if each.report)
    codes = {_exit_code(request, *each) for each in read} - {0}
    # a kind whose library is not installed is no failure: it is named, with what to install
    errors = (e.error for e in audits if e.error and not isinstance(e.error, MissingExtra))
    return next((error.exit_code for error in errors), min(codes, default=0))


def _audit(
    request: _Request, typed: str, cache: AnswerCache
) -> tuple[dict[str, Json], str, Report, Report | None]:
    """Audits one store.

    Returns:
        The JSON, empty where it is not wanted; what is to be printed; the report; and, where an
        audit of the same files would say the same, the report to keep.
    """
    from echoless.workflows.audit import report as reports
    from echoless.workflows.dedupe import secret_masking

    if request.github:
        refuse_leaving(Path(typed), Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd()))
    with open_store(typed) as store:
        settings = settings_for(store, request.choices)
        with Bar(quiet=request.as_json) as bar:
            known = cache.report(store)
            report = known or reports.audit_store(store, settings, progress=bar)
            wider = None
            if store.capabilities.sectioned:  # else it need not be imported
                from echoless.workflows.audit.between import between_namespaces

                wider = between_namespaces(store, settings, progress=bar)
        passing = wider is not None and wider.tally.notes != wider.tally.lasting
        new = (known is None or request.is_kept) and not passing
        lasting = report if new and is_lasting(store, settings, report) else None
        report = replace(report, notes=(*report.notes, *cache.tally.notes))
        OUTPUT.learn(wider.texts if wider else ())
        if request.html_file is not None:
            from echoless.web import report as html_report

            extent = request.extent_of(html_report.EXTENT)
            page = html_report.report_page(store, report, extent, between=wider, name=typed)
            html_report.write_report(request.html_file, page)
        data: dict[str, Json] = {}
        if request.as_json:
            data = reports.report_json(report) | ({"across": wider.to_json()} if wider else {})
            secret_masking.learn_answer(store, data)
            if request.texts:
                data["texts"] = secret_masking.answer_texts(data, store.get)
            printed = f"{render.json_line(data, indent=2)}\n" if len(request.stores) == 1 else ""
        else:
            blocks = _blocks(request, store, report, wider, typed)
            printed = _printed(request, store, report, blocks, typed)
    if request.html_file is not None and not request.page_alone:
        render.note(f"The report is in {request.html_file}.")
    return data, printed, report, lasting


def _blocks(
    request: _Request, store: Store, report: Report, wider: Between | None, name: str
) -> Sequence[Block]:
    """Returns the report for a person: a sentence where a file has all of it."""
    from echoless.workflows.audit import report_blocks
    from echoless.workflows.audit.first_screen import first_screen

    if request.page_alone:
        said = say(f"The report is in {request.html_file}.")
        return [*report_blocks.answer_blocks(report), said]
    title = Heading(f"Audit of {without_password(name)}")
    if request.format is None and not request.explain:
        return [title, *first_screen(store, report, request.extent, name, wider)]
    whole = replace(_REPORT, explain=request.explain, repeat=with_option)
    extent = _SUMMARY if request.github else request.extent_of(whole)
    return [
        title,
        *report_blocks.audit_blocks(store, report, extent),
        *(report_blocks.between_blocks(wider, extent, what="namespaces") if wider else ()),
    ]


def _printed(
    request: _Request, store: Store, report: Report, blocks: Sequence[Block], name: str
) -> str:
    """Returns the report on one store for a person, a document or a GitHub job.

    Raises:
        UsageError: The summary of the job cannot be written.
    """
    if request.format is None:
        return render.shown(blocks)
    lines = "\n".join(markdown(blocks)) + "\n"
    if not request.github:
        return lines
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            with Path(summary).open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(lines)
        except OSError as problem:
            where, why = f"GITHUB_STEP_SUMMARY names {summary}", problem.strerror
            raise UsageError(f"{where}, which cannot be written ({why}).") from problem
    return "".join(f"{line}\n" for line in _annotations(store, name, report))


def _exit_code(request: _Request, report: Report, where: str) -> int:
    """Prints why a store fails its limits, and returns the exit code; JSON has the figures."""
    limit = request.fail_over
    if limit is None:
        return 0
    if report.unread:
        from echoless.workflows.audit import report as reports

        render.note(f"Error: {where}{reports.unjudged(report)}")
        return InputError.exit_code
    if report.ratio <= limit:
        return 0
    if not request.as_json:
        over = f"{report.ratio:.2%} is redundant, more than the limit of {100 * limit:g}%."
        render.note(f"{where}{over}")
    return OVER_LIMIT


# ------------------------------------------------------------------ annotations of a GitHub job

_PREVIEW: Final = 160
"""Characters of a memory that a warning shows."""

_DATA: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY: Final = _DATA | str.maketrans({":": "%3A", ",": "%2C"})
"""Escapes of https://github.com/actions/toolkit/blob/main/packages/core/src/command.ts."""


def _annotations(store: Store, typed: str, report: Report) -> Iterator[str]:
    """Yields `::warning NAME=VALUE,…::MESSAGE` for each redundant copy, in the report's order.

    GitHub shows ten warnings a step; the report in the summary of the job has them all.

    Args:
        store: Open, the one that was audited.
        typed: The store as it was named, for one that is a file but knows no lines.
        report: The report on it.
    """
    ids = {id_ for g in report.groups for id_ in (g.survivor, *(m.id for m in g.members))}
    memories = store.get(ids)
    learn(memories.values())
    for group in report.groups:
        for member in group.members:
            path, line = _place(store, member.id, typed)
            evidence = f" ({quoted(member.evidence)})" if member.evidence else ""
            message = f"Repeats {_survivor_line(store, group.survivor, path, memories)}{evidence}"
            properties = {"file": path, "line": line, "title": "Repeated memory"}
            given = (
                f"{n}={value.translate(_PROPERTY)}" for n, value in properties.items() if value
            )
            yield f"::warning {','.join(given)}::{readable(message).translate(_DATA)}"


def _survivor_line(store: Store, id_: str, path: str, memories: Mapping[str, Memory]) -> str:
    """Returns file and line of the survivor, then its text."""
    other, line = _place(store, id_, "")
    where = f"line {line}" if line and other == path else f"{other}:{line}" if line else id_
    memory = memories.get(id_)
    return f"{where}: {flat(memory.content, _PREVIEW)}" if memory else where


def _place(store: Store, id_: str, typed: str) -> tuple[str, str]:
    """Returns file and line of a memory as texts, the file as seen from the root of the checkout.

    Args:
        store: Open.
        id_: The memory.
        typed: The store as it was named; the file where the store knows no lines.
    """
    place = store.place(id_)
    if place is not None:
        return _in_checkout(place[0]), str(place[1])
    return (_in_checkout(Path(typed)) if typed and Path(typed).exists() else ""), ""


def _in_checkout(path: Path) -> str:
    """Returns a path as GitHub wants it: relative to the folder of the checkout."""
    checkout = os.environ.get("GITHUB_WORKSPACE")
    if checkout:
        full, root = path.absolute(), Path(checkout).absolute()
        if full.is_relative_to(root):
            return full.relative_to(root).as_posix()
    return path.as_posix()
