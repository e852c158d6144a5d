"""The command review: what is to decide, by page or by words, and the plan of the answers."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from echoless.cli import render
from echoless.cli.options import (
    CommandState,
    SettingsCommand,
    again,
    check_delete,
    examples,
    finding_options,
    gathered,
    json_option,
    mapping_options,
    plan_option,
    setting_option,
    settings_for,
    store_argument,
    writing,
)
from echoless.cli.outcome import exit_code, say_notes, written_blocks, written_json
from echoless.cli.progress import Bar
from echoless.cli.review_card import counted, list_blocks
from echoless.core.address import LOOPBACK, Address
from echoless.core.destination import command_line, without_password
from echoless.core.document import Block, Gap, command, count, more, names, say, strong
from echoless.core.errors import UsageError
from echoless.core.garbage_collection import uncollected
from echoless.core.masking import learn
from echoless.core.model import Memory
from echoless.core.optional import require_module
from echoless.core.profiles import ActionKind
from echoless.core.rendering import readable
from echoless.core.settings import Choices, Settings
from echoless.execution.actions import promise
from echoless.execution.executor import apply
from echoless.execution.plan import Plan, write_plan
from echoless.execution.plan_blocks import group_blocks
from echoless.stores import Store, open_store
from echoless.workflows.consolidation.merge_pairs import keep_both, notes_on, plan_merge
from echoless.workflows.review.answers import REVIEW, decisions, withdraw
from echoless.workflows.review.plan import PERSON
from echoless.workflows.review.session import ReviewSession, open_review
from echoless.workflows.review.session_lock import review_lock

if TYPE_CHECKING:
    from echoless.web import server

_SHOWN: Final = 10
"""Groups of a plan that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """What was asked for on the command line.

    Attributes:
        store: The store as it was typed.
        choices: Settings that were chosen.
        window: Only what touches a memory of the last hours, so many; None for all.
        action: What happens to memories that go; the profile's action if None.
        listed: Whether to list what is open and what was decided.
        decide: Answers to give, each as `KEY=ANSWER`.
        merge: The memory that stays and the one that goes, or None.
        text: New text for the memory that stays, or None.
        plan_file: File to write the plan to, or None.
        now: Whether to carry the plan out at once.
        listen: Where the page is served, as it was typed.
        no_browser: Whether the link is only printed.
        as_json: Whether to print JSON.
    """

    store: str
    choices: Choices
    window: float | None
    action: ActionKind | None
    listed: bool
    decide: tuple[str, ...]
    merge: tuple[str, str] | None
    text: str | None
    plan_file: Path | None
    now: bool
    listen: str
    no_browser: bool
    as_json: bool

    def check(self) -> None:
        """Checks that the options go together, before the long work.

        Raises:
            UsageError: They do not.
        """
        ways = {"--list": self.listed, "--merge": self.merge, "--decide": self.decide}
        given = [name for name, is_given in ways.items() if is_given]
        if len(given) > 1:
            raise UsageError(f"{given[0]} and {given[1]} are two ways to go. Choose one.")
        if self.text is not None and self.merge is None:
            raise UsageError("--text is the text of a merge; add --merge KEEP REMOVE.")
        if self.now and self.plan_file:
            raise UsageError("--plan writes a plan for later and --apply acts now. Choose one.")
        if self.listed and (self.now or self.plan_file):
            raise UsageError("--list only reads; leave out --apply and --plan.")
        if self.plan_file and self.plan_file.exists():
            raise UsageError(f"{self.plan_file} exists. Give the plan another name, or remove it.")

    def settings(self, store: Store) -> Settings:
        """Returns the settings of the review.

        Raises:
            UsageError: The settings propose to delete, and nobody asked for it.
        """
        settings = settings_for(store, self.choices.over(Choices(action=self.action)))
        if not self.listed:
            check_delete(settings, self.action)
        return settings

    def session(self, store: Store) -> ReviewSession:
        """Returns the review of an open store."""
        with Bar(quiet=self.as_json) as bar:
            return open_review(store, self.settings(store), window=self.window, progress=bar)


@click.command(
    "review",
    cls=SettingsCommand,
    epilog=examples(
        "echoless review agent.db",
        "echoless review agent.db --list --window 24",
        "echoless review agent.db --decide 52e7ff=accept --decide 9ab03c=different --apply",
        "echoless review agent.db --decide 52e7ff=open",
        "echoless review agent.db --merge m-7 m-9 --apply",
    ),
)
@store_argument
@mapping_options
@finding_options
@click.option(
    "--window",
    type=float,
    metavar="HOURS",
    help="Only what touches a memory of the last HOURS; the others may be of any age.",
)
@setting_option("action")
@click.option("--list", "listed", is_flag=True, help="List what is open, and what was decided.")
@click.option(
    "--decide",
    multiple=True,
    metavar="KEY=ANSWER",
    help="Answer what --list shows with this KEY: accept, the number of the memory that stays, "
    "different, times (both are true, at different times), skip, or open, which takes an answer "
    "back. A,B=different keeps any two memories apart; all=open takes back all. May be given "
    "several times.",
)
@click.option(
    "--merge",
    nargs=2,
    metavar="KEEP REMOVE",
    help="Make one memory of any two: KEEP takes over what REMOVE knows, REMOVE is hidden.",
)
@click.option(
    "--text",
    metavar="TEXT",
    help="With --merge: a new text for KEEP. It has to keep the numbers, names, paths, dates and "
    "negations of both.",
)
@plan_option
@click.option("--apply", "now", is_flag=True, help="Carry out all that was accepted at once.")
@click.option(
    "--listen",
    default="0",
    metavar="[HOST:]PORT",
    help="Serve the page there; by default at a free port that this machine alone can reach.",
)
@click.option("--no-browser", is_flag=True, help="Print the link and open no browser.")
@json_option
@gathered("request", _Request)
@uncollected()
def review_command(*, request: _Request) -> int:
    """Decide on duplicates of STORE: in a page in the browser, or by words.

    Shows conflicts, newer values, groups that say the same and unsure pairs, with both texts and
    the difference. Every answer is stored at once, so the review can be left and gone on with at
    any moment. Memories change only by Apply, and `echoless undo` takes that back. The page is for
    this machine alone; its link works once, and Enter gives a new one; Ctrl-C ends it.
    """
    request.check()
    acts = request.merge or request.decide or request.now or request.plan_file
    if not (acts or request.listed or request.as_json):
        serve_review(
            request.store, request.session, listen=request.listen, browser=not request.no_browser
        )
        return 0
    with open_store(request.store) as opened:
        return _act(opened, request) if acts else _list(opened, request)


def _list(store: Store, request: _Request) -> int:
    """Prints what is open and what was decided; nothing is written."""
    session, made = request.session(store), decisions(store)
    learn(memory for item in session.items.values() for memory in item.memories)
    learn(memory for each in made for memory in each.memories.values())
    if request.as_json:
        findings = session.findings
        asked = [item.as_asked(session.state(item.key)) for item in session.items.values()]
        render.show_json(
            {
                "store": findings.url,
                "profile": findings.settings.profile.name,
                "window": request.window,
                "items": asked,
                "decisions": [each.to_json() for each in made],
                "skipped": {reason: list(ids) for reason, ids in findings.tally.skipped.items()},
                "notes": [*findings.tally.notes, *filter(None, [session.note])],
            }
        )
    else:
        render.show(list_blocks(session, made, request.store))
    return 0


# ------------------------------------------------------------------ answers and plans


def _act(store: Store, request: _Request) -> int:
    """Takes answers by words, or makes a plan and does with it what was asked for."""
    if request.merge is not None:
        plan = plan_merge(
            store,
            *request.merge,
            request.text,
            encoder=settings_for(store, request.choices).named_encoder,
            action=request.action or "merge",
            by=PERSON,
            settings=settings_for(store, request.choices),
        )
        return _carry_out(store, request, plan, store.get(request.merge))
    session = _decide(store, request)
    if not (request.now or request.plan_file):
        render.show_answer({"decided": list(request.decide)}, (), as_json=request.as_json)
        return 0
    session = session or request.session(store)
    plan = session.plan()
    return _carry_out(store, request, plan, session.findings.memories)


def _decide(store: Store, request: _Request) -> ReviewSession | None:
    """Stores answers that were given by words, and says each one.

    Returns:
        The review, if an answer needed one.

    Raises:
        UsageError: An answer is none, or contradicts an earlier one; those before it are stored.
        InputError: Nothing has that key.
    """
    session = None
    for typed in request.decide:
        name, _, word = typed.rpartition("=")
        with writing(request.store):
            if word == "open":
                keys = withdraw(store, name)
                said = f"Open again: {names(key[:12] for key in keys) or 'nothing was decided'}."
            elif "," in name and word == "different":
                a, _, b = name.partition(",")
                keep_both(store, a, b, by=REVIEW)
                said = f"Both stay: {a} and {b}."
            else:
                session = session or request.session(store)
                said = session.decide(name, word)
        if not request.as_json:
            render.show([say(said)])
    say_notes(store)
    return session


def _carry_out(store: Store, request: _Request, plan: Plan, memories: Mapping[str, Memory]) -> int:
    """Shows a plan; writes it to its file, or carries it out, if that was asked for.

    Returns:
        The exit code.
    """
    run = None
    if request.plan_file is not None:
        write_plan(plan, request.plan_file)
    if request.now and plan.actions:
        with Bar(quiet=request.as_json) as bar, writing(request.store):
            run = apply(store, plan, progress=bar.actions)
        say_notes(store, run)
    if request.as_json:
        notes = list(notes_on(plan))
        written = written_json(run, request.plan_file, request.store)
        render.show_json({"plan": plan.to_json(), "notes": notes, **written})
        return exit_code(run)
    render.show(_plan_blocks(plan, memories))
    if run is None and request.plan_file is None and request.merge is not None:
        line = command_line("review", request.store, "--merge", *request.merge, "--apply")
        render.show([say("Nothing was written. To merge them:"), command(again("--apply") or line)])
    else:
        render.show(written_blocks(run, request.plan_file, request.store))
    return exit_code(run)


def _plan_blocks(plan: Plan, memories: Mapping[str, Memory]) -> Iterator[Block]:
    """Yields the actions of a plan, and facts that only the hidden memories have."""
    if not plan.actions:
        yield say("Nothing is accepted yet, so nothing would change.")
        return
    yield Gap()
    yield from group_blocks(plan.actions[:_SHOWN], memories)
    if len(plan.actions) > _SHOWN:
        yield more(len(plan.actions) - _SHOWN)
    yield say(strong(promise(plan.counts)))
    for note in notes_on(plan):
        yield say(note, level=1)


_WARNING: Final = (
    "Other machines can reach this page, and what it sends is not encrypted: whoever reads along "
    "sees the memories and can take the review over. Without --listen only this machine can."
)


_BY_WORDS: Final = (
    "No browser is opened. Without one, `{}` lists what is open, and --decide KEY=ANSWER answers."
)


def serve_review(
    store: str, session_of: Callable[[Store], ReviewSession], *, listen: str, browser: bool
) -> None:
    """Serves the review of a store as a page until Ctrl-C.

    Args:
        store: As it was typed.
        session_of: Opens the review of the open store.
        listen: Where, as `HOST:PORT` or `PORT`; port 0 takes a free one.
        browser: Whether to open the link in a browser.

    Raises:
        MissingExtra: A library of the page is not installed.
        StoreLocked: Another review of the store is open.
        UsageError: Nothing can listen there.
    """
    for module in ("starlette", "uvicorn", "jinja2"):
        require_module(module, "The review in a browser, unlike --list and --decide,", "review")
    from echoless.web import server

    host, _, port = listen.rpartition(":")
    if not port.isdecimal() or int(port) > 65_535:
        raise UsageError(f"--listen {listen!r} is no port. Write it like 8400, or 127.0.0.1:8400.")
    address = Address(host.strip("[]") or LOOPBACK, int(port))
    with (
        open_store(store) as opened,
        review_lock(opened) as lock,
        server.taken_place(address) as place,
    ):
        lock.announce(f"at {place.url}", "Press Enter in its terminal for a new link.")
        session = session_of(opened)
        if not place.address.loopback:
            render.note(_WARNING)
        _serve(session, store, place, browser=browser)
        waiting, line = session.answered(), command_line("review", store)
        if waiting:
            render.note(
                f"The review has ended. {count(waiting, 'answer')} stored; without Apply they "
                f"change no memory. Go on with the same options: {line}"
            )
        else:
            render.note(f"The review has ended. No answer waits to be applied. Once more: {line}")


def _serve(
    session: ReviewSession, store: str, place: server.ReservedPort, *, browser: bool
) -> None:
    """Serves the pages until a signal comes.

    Raises:
        KeyboardInterrupt: A second signal came while work was brought to its end.
    """
    from echoless.web import app, server, store_queue

    calls = store_queue.StoreQueue()
    state = click.get_current_context().ensure_object(CommandState)
    opens = browser and server.has_browser()
    person = server.Person(
        show_link=_link_printer(session, store, opens=opens),
        say=render.note,
        report=_error_printer(debug=state.debug),
        browser=opens,
    )
    pages = app.review_app(
        session, calls, label=without_password(store), command=command_line("review", store)
    )
    try:
        server.serve(pages, place=place, calls=calls, person=person)
    except KeyboardInterrupt:
        state.writing = store  # an answer at least may have been under way
        raise


def _link_printer(session: ReviewSession, store: str, *, opens: bool) -> Callable[[str], None]:
    """Returns what prints links: whole, in a line of their own, unmasked, and nowhere else."""
    answered = session.answered()
    before = f" {count(answered, 'answer')} stored before." if answered else ""
    greeting = [
        f"Review of {without_password(store)}: {counted(session) or 'nothing to decide'}.{before}",
        "Every answer is stored at once; memories change only when you press Apply.",
        "Enter gives a new link, Ctrl-C ends the review.",
        *([] if opens else [_BY_WORDS.format(command_line("review", store, "--list"))]),
        "Open this link, which works once:",
    ]

    def show(link: str) -> None:
        for sentence in greeting or [
            "Open this link, which works once; older ones do not any more:"
        ]:
            click.echo(readable(sentence))
        greeting.clear()
        click.echo(f"  {link}")

    return show


def _error_printer(*, debug: bool) -> Callable[[Exception], None]:
    """Returns what prints a mistake of the program that a page ran into."""

    def show(problem: Exception) -> None:
        if debug:
            render.note(*"".join(traceback.format_exception(problem)).splitlines())
        render.note(
            f"Error: {type(problem).__name__}: {problem}. This should not happen; the review goes "
            "on."
        )

    return show
