"""The command review, which opens a review of a store as a page in a browser."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from echoless.cli import render
from echoless.cli.options import (
    CommandState,
    SettingsCommand,
    check_delete,
    examples,
    finding_options,
    gathered,
    mapping_options,
    setting_option,
    settings_for,
    store_argument,
)
from echoless.cli.progress import Bar
from echoless.cli.review_card import counted
from echoless.cli.terminal_review import review_in_terminal
from echoless.core.address import LOOPBACK, Address
from echoless.core.destination import command_line, without_password
from echoless.core.document import count
from echoless.core.garbage_collection import uncollected
from echoless.core.optional import lazy_module, require_module
from echoless.core.rendering import readable
from echoless.core.settings import Choices, Settings
from echoless.stores import Store, open_store
from echoless.workflows.review.session import ReviewSession, open_review
from echoless.workflows.review.session_lock import review_lock

if TYPE_CHECKING:
    from echoless.web import app, server, store_queue
else:
    app = lazy_module("echoless.web.app")
    server = lazy_module("echoless.web.server")  # needs the extra "review"
    store_queue = lazy_module("echoless.web.store_queue")

_WARNING: Final = (
    "Other machines can reach this page, and what it sends is not encrypted: whoever reads along "
    "sees the memories and can take the review over. Without --host only this machine can."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """What was asked for on the command line.

    Attributes:
        store: The store as it was typed.
        choices: Settings that were chosen.
        action: What happens to memories that go; the profile's action if None.
        host: Where to listen.
        port: Where to listen; 0 takes a free one.
        no_browser: Whether the link is only printed.
        terminal: Whether to ask in the terminal.
    """

    store: str
    choices: Choices
    action: str | None
    host: str
    port: int
    no_browser: bool
    terminal: bool

    @property
    def again(self) -> str:
        """Returns the command that goes on with the review."""
        return command_line("review", self.store)

    def settings(self, store: Store) -> Settings:
        """Returns the settings of the review.

        Raises:
            UsageError: The settings propose to delete, and nobody asked for it.
        """
        settings = settings_for(store, self.choices.over(Choices(action=self.action)))
        check_delete(settings, self.action)
        return settings


@click.command(
    "review",
    cls=SettingsCommand,
    epilog=examples(
        "echoless review agent.db",
        "echoless review agent.db --no-browser --port 8400",
        "echoless review agent.db --terminal",
    ),
)
@store_argument
@mapping_options
@finding_options
@setting_option("action")
@click.option(
    "--host",
    default=LOOPBACK,
    show_default=True,
    metavar="HOST",
    help="Listen on this address; with any but the default other machines can reach the page.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=0,
    show_default=True,
    metavar="N",
    help="Listen on this port; 0 takes a free one.",
)
@click.option("--no-browser", is_flag=True, help="Print the link and open no browser.")
@click.option("--terminal", is_flag=True, help="Ask here, by single keys, without a page.")
@gathered("request", _Request)
@uncollected()
def review_command(*, request: _Request) -> int:
    """Decide on duplicates of STORE in a page in the browser, until Ctrl-C.

    Shows conflicts, newer values, groups that say the same and unsure pairs, with both texts and
    the difference. Every answer is stored at once, so the review can be left and gone on with at
    any moment. Memories change only when you press Apply, and `echoless undo` takes that back. The
    page is for this machine alone; its link works once, and Enter gives a new one.
    """
    if request.terminal:
        with open_store(request.store) as opened:
            return review_in_terminal(opened, request.store, request.settings(opened))
    for module in ("starlette", "uvicorn", "jinja2"):
        require_module(module, "The review in a browser, unlike --terminal,", "review")
    with (
        open_store(request.store) as opened,
        review_lock(opened) as lock,
        server.taken_place(Address(request.host, request.port)) as place,
    ):
        lock.announce(f"at {place.url}", "Press Enter in its terminal for a new link.")
        settings = request.settings(opened)
        with Bar() as bar:
            session = open_review(opened, settings, progress=bar)
        if not place.address.loopback:
            render.note(_WARNING)
        _serve(session, request, place)
        render.note(_end(session, request))
    return 0


def _serve(session: ReviewSession, request: _Request, place: server.ReservedPort) -> None:
    """Serves the pages until a signal comes.

    Raises:
        KeyboardInterrupt: A second signal came while work was brought to its end.
    """
    calls = store_queue.StoreQueue()
    state = click.get_current_context().ensure_object(CommandState)
    person = server.Person(
        show_link=_link_printer(session, request),
        say=render.note,
        report=_error_printer(debug=state.debug),
        browser=not request.no_browser and server.has_browser(),
    )
    pages = app.review_app(
        session, calls, label=without_password(request.store), command=request.again
    )
    try:
        server.serve(pages, place=place, calls=calls, person=person)
    except KeyboardInterrupt:
        state.writing = request.store  # an answer at least may have been under way
        raise


def _link_printer(session: ReviewSession, request: _Request) -> Callable[[str], None]:
    """Returns what prints links: whole, in a line of their own, unmasked, and nowhere else."""
    answered = session.answered()
    before = f" {count(answered, 'answer')} stored before." if answered else ""
    store = without_password(request.store)
    greeting = [
        f"Review of {store}: {counted(session) or 'nothing to decide'}.{before}",
        "Every answer is stored at once; memories change only when you press Apply.",
        "Enter gives a new link, Ctrl-C ends the review.",
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
            for line in "".join(traceback.format_exception(problem)).splitlines():
                render.note(line)
        render.note(
            f"Error: {type(problem).__name__}: {problem}. This should not happen; the review goes "
            "on."
        )

    return show


def _end(session: ReviewSession, request: _Request) -> str:
    """Returns what an ended review leaves behind, and how to go on."""
    waiting = session.answered()
    if not waiting:
        return f"The review has ended. No answer waits to be applied. Once more: {request.again}"
    return (
        f"The review has ended. {count(waiting, 'answer')} stored; without Apply they change no "
        f"memory. Go on with the same options: {request.again}"
    )
