"""Review on a terminal by single keys; every answer is stored before the next key is read."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias

import click

from echoless.cli import render
from echoless.cli.options import CommandState, writing
from echoless.cli.outcome import exit_code, say_notes, written_blocks
from echoless.cli.progress import Bar
from echoless.cli.review_card import LEGEND, NOUNS, card_blocks, card_title, counted, text_blocks
from echoless.core.destination import command_line
from echoless.core.document import Block, Gap, Heading, command, count, more, number, say, strong
from echoless.core.errors import EcholessError, UsageError
from echoless.core.model import Memory
from echoless.core.settings import Settings
from echoless.execution.actions import promise
from echoless.execution.plan import Plan, write_plan
from echoless.execution.plan_blocks import group_blocks, skipped_blocks
from echoless.stores import Store
from echoless.workflows.consolidation.merge_pairs import notes_on
from echoless.workflows.review.answers import AnsweredElsewhere
from echoless.workflows.review.items import (
    KINDS,
    STATE_TITLES,
    STATES,
    ItemKind,
    ReviewItem,
)
from echoless.workflows.review.session import Filter, ReviewSession, open_review
from echoless.workflows.review.session_lock import review_lock


def read_key(question: str) -> str | None:
    """Returns the key a person presses after a question.

    A key that was pressed before the question stood there does not count: nobody answers what they
    have not seen. Where the input is no terminal a line is read instead.

    Args:
        question: Printed before.

    Returns:
        A character, or several that came at once, such as pasted ones; an empty text for an empty
        line; None at the end of the input.

    Raises:
        KeyboardInterrupt: Ctrl-C.
    """
    if not sys.stdin.isatty():
        typed = render.ask(question)
        return None if typed is None else typed.strip()
    click.echo(question, nl=False)
    try:
        pressed = click.getchar()
    except (EOFError, OSError):  # the end of the input; the terminal is gone
        pressed = None
    except KeyboardInterrupt:
        click.echo()
        raise
    if not pressed:
        click.echo()
        return None
    click.echo(pressed if len(pressed) == 1 and pressed.isprintable() else "")
    return pressed


After: TypeAlias = Literal["ask", "show", "leave"]
"""What follows a key: the question again, the next item, or the end."""

HELP: Final = (
    ("1 to 9", "keep that memory: the others go behind it; 0 asks for any number"),
    ("a", "accept the memory that is said to stay"),
    ("d", "both stay: not proposed again while the texts stay"),
    ("b", "both are true, at different times; they stay as by d"),
    ("space, s", "skip: left for later; S asks about all skipped ones again"),
    ("e", "edit the text of the memory that stays, or of 1, then a; no fact may be lost"),
    ("f", "show all texts whole"),
    ("u", "take the last answer back"),
    ("A", "accept the rest of this class of groups; u takes all of them back"),
    ("/", "filter by words and namespace:NAME; Enter alone shows all"),
    ("t", "next kind: newer values, conflicts, groups, unsure pairs"),
    ("p", "preview of what would happen"),
    ("q", "leave; the answers stay"),
)

_SHOWN: Final = 10
"""Groups of a preview."""


@dataclass(slots=True)
class TerminalReview:
    """Questions about the items of a review, one after the other.

    Attributes:
        session: The review.
        wanted: What is shown.
        survivor: The memory of the present item that would stay.
        text: New text for it, if a person wrote one.
        first: Key of the item to show first, such as an item whose answer was taken back.
        seen: Number of the answer that the present item had when it was shown; 0 for none.
    """

    session: ReviewSession
    wanted: Filter = field(default_factory=lambda: Filter(kind="newer", state="open"))
    survivor: str = ""
    text: str | None = None
    first: str = ""
    seen: int = 0

    def run(self) -> bool:
        """Asks about every open item.

        Returns:
            False if the input ended.
        """
        while (item := self._next()) is not None:
            self.survivor, self.text, self.first = item.survivor, None, ""
            answer = self.session.answers.get(item.key)
            self.seen = answer.number if answer else 0
            self._show(item)
            after: After = "ask"
            while after == "ask":
                key = read_key(self._question(item))
                if key is None:
                    return False
                after = self._tried(item, key)
            if after == "leave":
                return True
        return True

    # ------------------------------------------------------------------ what is shown

    def _next(self) -> ReviewItem | None:
        """Returns the item to show, of this kind or of one that has open items."""
        first = self.session.items.get(self.first)
        if first is not None and self.session.state(first.key) == "open":
            self.wanted = replace(self.wanted, kind=first.kind)
            return first
        for kind in self._kinds():
            item = self._open(kind)
            if item is not None:
                self.wanted = replace(self.wanted, kind=kind)
                return item
        if self.wanted.words or self.wanted.namespace is not None:
            render.show([say("Nothing open matches the filter any more; everything is shown.")])
            self.wanted = Filter(kind=self.wanted.kind, state="open")
            return self._next()
        return None

    def _kinds(self) -> list[ItemKind]:
        """Returns the kinds, the present one first."""
        kinds = list(KINDS)
        at = kinds.index(self.wanted.kind)
        return [*kinds[at:], *kinds[:at]]

    def _open(self, kind: ItemKind) -> ReviewItem | None:
        """Returns the first open item of a kind, without items that other answers settle."""
        behind = self.session.survivors()
        for item in self.session.selection(replace(self.wanted, kind=kind)):
            if len({behind.get(id_, id_) for id_ in item.ids}) > 1:
                return item
        return None

    def _show(self, item: ReviewItem) -> None:
        """Prints an item."""
        title = card_title(self.session, item, self.wanted)
        render.show(card_blocks(item, title, self.survivor, self.text))
        behind = self.session.survivors()
        render.show(
            say(f"By an earlier answer {id_} goes behind {behind[id_]}.", level=1)
            for id_ in item.ids
            if id_ in behind
        )

    def _question(self, item: ReviewItem) -> str:
        """Returns the keys that are most of use now."""
        pair = len(item.ids) == 2
        keep = "[1] or [2] stays" if pair else f"[1-{min(9, len(item.ids))}] stays"
        accept = ["[a]ccept"] if self.survivor else []
        stay = f"[d] {'both' if pair else 'all'} stay"
        keys = (keep, *accept, stay, "[b] true at different times", "[space] skip")
        return "  ".join((*keys, "[?] help", "[q] leave: "))

    # ------------------------------------------------------------------ keys

    def _tried(self, item: ReviewItem, key: str) -> After:
        """Does what a key asks for, or says why it cannot be done."""
        try:
            return self._press(item, key)
        except AnsweredElsewhere as problem:
            render.show([say(str(problem))])
            return "show"  # nobody overrules an answer that was not on the screen
        except EcholessError as problem:
            render.show([say(f"{problem} Nothing was decided.")])
            return "ask"

    def _press(self, item: ReviewItem, key: str) -> After:
        """Does what a key asks for.

        Raises:
            EcholessError: It cannot be done; nothing was stored.
        """
        if word := key if key in _NUMBERS else _WORDS.get(key):
            return self.answer(item, word)
        does = _KEYS.get(key)
        if does is None:
            render.show([say("That is no key of the review; ? lists them. Nothing was decided.")])
            return "ask"
        return does(self, item)

    def answer(self, item: ReviewItem, word: str) -> After:
        """Stores an answer by a word; what is accepted is what is said to stay, with its text."""
        if word == "accept" and self.survivor:
            word = str(item.ids.index(self.survivor) + 1)
        keeps = word.isdecimal() and item.ids[int(word) - 1 : int(word)] == (self.survivor,)
        text = self.text if keeps else None
        render.show([say(self.session.decide(item.key, word, text=text, seen=self.seen))])
        return "show"

    def ask_skipped(self, _item: ReviewItem) -> After:
        """Opens all skipped items again."""
        skipped = self.session.take_back_skipped()
        render.show([say(f"{count(len(skipped), 'skipped item')} open again.")])
        return "show" if skipped else "ask"

    def take_back(self, _item: ReviewItem) -> After:
        """Takes the last answer back, with all answers of the same key press."""
        keys = self.session.take_back()
        many = "" if len(keys) == 1 else f" with {count(len(keys) - 1, 'other')}"
        self.first = keys[0]
        ids = ", ".join(self.session.item(self.first).ids)
        render.show([say(f"Taken back: the answer to {ids}{many}.")])
        return "show"

    def accept_rest(self, item: ReviewItem) -> After:
        """Accepts all open groups of the class of the present one."""
        answers = self.session.accept_rest(replace(self.wanted, group_class=item.group_class))
        left = "" if answers else " An earlier answer stands against each."
        render.show([say(f"Accepted: {count(len(answers), 'group')}.{left}")])
        return "show" if answers else "ask"

    def keep_by_number(self, item: ReviewItem) -> After:
        """Asks for the number of the memory that stays."""
        return self.answer(item, (render.ask("Number: ") or "").strip())

    def edit(self, item: ReviewItem) -> After:
        """Lets a person write a new text for the survivor, and checks that no fact is lost."""
        keep = self.survivor or item.ids[0]
        text = _edited(self.text or self.session.memory(keep).content)
        if text is None:
            render.show([say("The text stays as it is.")])
            return "ask"
        self.session.check_text(item.key, text, survivor=keep)
        self.survivor, self.text = keep, text
        self._show(item)
        return "ask"

    def show_texts(self, item: ReviewItem) -> After:
        """Prints all texts whole."""
        render.show(text_blocks(self.session, item))
        return "ask"

    def filter(self, _item: ReviewItem) -> After:
        """Asks which items are shown."""
        words, namespace = [], None
        for word in (render.ask("Words, namespace:NAME, or Enter for all: ") or "").split():
            name, colon, value = word.partition(":")
            if colon and name == "namespace":
                namespace = value
            else:
                words.append(word)
        wanted = replace(self.wanted, words=" ".join(words), namespace=namespace)
        if not any(self.session.selection(replace(wanted, kind=kind)) for kind in KINDS):
            render.show([say("Nothing open matches that; the filter stays as it was.")])
            return "ask"
        self.wanted = wanted
        return "show"

    def next_kind(self, item: ReviewItem) -> After:
        """Goes to the next kind that has open items."""
        for kind in self._kinds()[1:]:
            if self._open(kind) is not None:
                self.wanted = replace(self.wanted, kind=kind)
                return "show"
        render.show([say(f"Only {NOUNS[item.kind]}s are open.")])
        return "ask"

    def preview(self, _item: ReviewItem) -> After:
        """Prints the plan of the answers so far."""
        render.show(preview_blocks(self.session.plan(), self.session.findings.memories))
        return "ask"

    def help(self, _item: ReviewItem) -> After:
        """Prints what each key does."""
        width = max(len(keys) for keys, _ in HELP)
        render.show(say(f"{keys:<{width}}  {does}", level=1) for keys, does in HELP)
        return "ask"

    def leave(self, _item: ReviewItem) -> After:
        """Ends the questions."""
        return "leave"


_NUMBERS: Final = frozenset("123456789")

_WORDS: Final = {"a": "accept", "d": "different", "b": "times", "s": "skip", " ": "skip"}
"""Answers by the keys that give them."""

_KEYS: Final[dict[str, Callable[[TerminalReview, ReviewItem], After]]] = {
    "S": TerminalReview.ask_skipped,
    "0": TerminalReview.keep_by_number,
    "e": TerminalReview.edit,
    "f": TerminalReview.show_texts,
    "u": TerminalReview.take_back,
    "A": TerminalReview.accept_rest,
    "/": TerminalReview.filter,
    "t": TerminalReview.next_kind,
    "p": TerminalReview.preview,
    "?": TerminalReview.help,
    "q": TerminalReview.leave,
}


def _edited(text: str) -> str | None:
    """Returns the text after a person edited it, or None if it is unchanged.

    In the editor of `VISUAL` or `EDITOR`; in one line where none is named.

    Raises:
        UsageError: The editor cannot be started, or failed.
    """
    if any(os.environ.get(name) for name in ("VISUAL", "EDITOR")):
        try:
            written = click.edit(text)
        except click.ClickException as problem:
            raise UsageError(f"{problem.format_message()}.") from problem
        changed = None if written is None else written.removesuffix("\n")
    else:
        changed = (render.ask("New text, or Enter to leave it: ") or "").strip()
    return None if not changed or changed == text else changed


# ------------------------------------------------------------------ beginning and end


def review_in_terminal(
    store: Store,
    typed: str,
    settings: Settings,
    *,
    window: float | None = None,
    plan_file: Path | None = None,
) -> int:
    """Asks about everything that is open, then shows what would happen and applies it on a yes.

    Args:
        store: Open. No other review of it may be open.
        typed: The store as it was typed.
        settings: What duplicates are found with.
        window: As for `open_review`.
        plan_file: File for the plan; None asks whether to carry it out.

    Returns:
        The exit code.

    Raises:
        StoreLocked: Another review of the store is open.
    """
    again = command_line("review", typed, "--terminal")
    with review_lock(store) as lock:
        lock.announce("in a terminal")
        with Bar() as bar:
            session = open_review(store, settings, window=window, progress=bar)
        click.get_current_context().ensure_object(CommandState).review = again
        if not session.items:
            render.show([say("Nothing is said twice; there is nothing to review.")])
            return 0
        render.show(_greeting(session))
        if not TerminalReview(session).run():
            render.show([Gap(), *_next_steps(session, typed, again)])
            return 0
        return _end(session, typed, again, plan_file)


def _greeting(session: ReviewSession) -> Iterator[Block]:
    """Yields the counts of items and of earlier answers."""
    answers, skipped = session.answered(), session.counts()["skip"]
    before = f" {number(answers)} answered before" if answers else ""
    before += f", {number(skipped)} of them skipped (S asks again)" if skipped else ""
    minutes = count(session.minutes_left(), "minute")
    yield say(f"To review: {counted(session)}, about {minutes}.{before}{'.' if before else ''}")
    if session.note:
        yield say(session.note)
    yield from skipped_blocks(session.findings.tally)
    yield say("Every answer is stored at once. No memory changes before the last question.")
    yield LEGEND


def preview_blocks(plan: Plan, memories: Mapping[str, Memory]) -> Iterator[Block]:
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


def _end(session: ReviewSession, typed: str, again: str, plan_file: Path | None) -> int:
    """Shows the answers and their plan; writes it to its file, or carries it out on a yes.

    Returns:
        The exit code.
    """
    plan = session.plan()
    render.show([Gap(), Heading("Your answers"), say(_counts(session))])
    if not plan.actions:
        render.show([say("Nothing to apply."), *_next_steps(session, typed, again)])
        return 0
    render.show(preview_blocks(plan, session.findings.memories))
    if plan_file is not None:
        write_plan(plan, plan_file)
        render.show(written_blocks(None, plan_file, typed))
        return 0
    if not render.agreed(f"Apply {count(len(plan.actions), 'group')}? [y/N] "):
        render.show([say("Nothing was applied."), *_next_steps(session, typed, again)])
        return 0
    with Bar() as bar, writing(typed):
        run = session.apply(plan.digest, bar.actions, look_again=False)
    say_notes(session.store, run)
    render.show(written_blocks(run, plan_file, typed))
    return exit_code(run)


def _counts(session: ReviewSession) -> str:
    """Returns how many items got which answer."""
    counts = session.counts()
    states = (*STATES[1:], STATES[0])
    shown = (f"{number(counts[state])} {STATE_TITLES[state].lower()}" for state in states)
    return f"{', '.join(shown)}."


def _next_steps(session: ReviewSession, typed: str, again: str) -> Iterator[Block]:
    """Yields the count of stored answers, and the commands to continue."""
    answers = session.answered()
    if not answers:
        yield say(f"Go on, with the same options, by: {again}")
        return
    yield say(f"{count(answers, 'answer')} stored. Go on, with the same options, by:")
    yield command(again)
    yield say("See the answers, or take some back, by:")
    yield command(command_line("review", typed, "--list"))
