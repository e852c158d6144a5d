"""The command decisions: what people decided about a store, and how to take it back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, get_args

import click

from echoless.cli import render
from echoless.cli.options import (
    count_option,
    examples,
    gathered,
    json_option,
    store_argument,
    writing,
)
from echoless.cli.outcome import say_notes
from echoless.core.destination import command_line, without_password
from echoless.core.document import (
    Block,
    Gap,
    Heading,
    Span,
    command,
    count,
    difference,
    dim,
    flat,
    names,
    number,
    say,
    strong,
)
from echoless.core.errors import InputError, UsageError
from echoless.core.secret_masking import learn
from echoless.stores import Store, open_store
from echoless.workflows.review.decisions import (
    AnswerGiven,
    Decisions,
    PairApart,
    Withdrawn,
    decisions,
    withdraw_all,
    withdraw_answer,
    withdraw_pair,
)

Kind: TypeAlias = Literal["different", "accepted", "skipped"]

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

_DEFAULT_TOP: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """What was asked for on the command line.

    Attributes:
        store: The store as it was typed.
        given: Ids of memories, or the beginning of a key; none for all decisions.
        withdraw: Whether to take back the decision that `given` names.
        every: Whether to take back all decisions.
        yes: Whether to do that without asking.
        kind: Only decisions of this kind; all if None.
        top: Most decisions of each kind to print.
        as_json: Whether to print JSON.
    """

    store: str
    given: tuple[str, ...]
    withdraw: bool
    every: bool
    yes: bool
    kind: Kind | None
    top: int
    as_json: bool

    def check(self) -> None:
        """Checks that the options go together.

        Raises:
            UsageError: They do not.
        """
        if self.withdraw and self.every:
            raise UsageError("--withdraw takes back one decision and --withdraw-all all. Choose.")
        if self.withdraw and not 1 <= len(self.given) <= 2:
            raise UsageError(
                "Name what to take back: the two ids of a pair, or the key of an answer."
            )
        if self.every and self.given:
            raise UsageError("--withdraw-all takes no ids; to take one decision back: --withdraw.")
        if self.yes and not self.every:
            raise UsageError("--yes belongs to --withdraw-all.")


@click.command(
    "decisions",
    epilog=examples(
        "echoless decisions agent.db",
        "echoless decisions agent.db m-17",
        "echoless decisions agent.db --withdraw m-17 m-42",
        "echoless decisions agent.db --withdraw 52e7ff",
        "echoless decisions agent.db --withdraw-all --kind skipped",
    ),
)
@store_argument
@click.argument("given", metavar="[ID|KEY]...", nargs=-1)
@click.option(
    "--withdraw",
    is_flag=True,
    help="Take one decision back: that about the pair of two IDs, or the answer whose KEY starts "
    "so.",
)
@click.option(
    "--withdraw-all",
    "every",
    is_flag=True,
    help="Take all decisions back, or all of --kind, after a question.",
)
@click.option("--yes", is_flag=True, help="With --withdraw-all: do not ask, for scripts.")
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    help="Only pairs that are different, or only accepted or skipped answers of a review.",
)
@count_option("--top", default=_DEFAULT_TOP, explained="Print the N latest decisions of each kind.")
@json_option
@gathered("request", _Request)
def decisions_command(*, request: _Request) -> None:
    """List what people decided about STORE; with --withdraw, take it back. No memory changes.

    Pairs that are different stay apart while their texts stay. Accepted answers of a review wait
    for a review to apply them, and skipped ones for a review to ask again. With an ID or KEY, only
    decisions about that memory or with that key are listed.
    """
    request.check()
    with open_store(request.store) as opened:
        if request.withdraw:
            with writing(request.store):
                pair = len(request.given) == 2
                withdrawn = (withdraw_pair if pair else withdraw_answer)(opened, *request.given)
            _show_withdrawn(opened, request, withdrawn)
            return
        made = _chosen(decisions(opened), request)
        learn(memory for pair in made.pairs for memory in (pair.one, pair.other))
        learn(memory for given in made.answers for memory in given.memories.values())
        if request.every:
            _withdraw_all(opened, request, made)
        elif request.as_json:
            render.show_json(
                {
                    "pairs": [pair.to_json() for pair in made.pairs],
                    "answers": [given.to_json() for given in made.answers],
                }
            )
        else:
            render.show(_blocks(made, request))


def _chosen(made: Decisions, request: _Request) -> Decisions:
    """Returns the decisions of a kind that are about some memories, or have some key.

    Raises:
        InputError: There is none about what was named.
    """
    pairs = made.pairs if request.kind in {None, "different"} else ()
    answers = [a for a in made.answers if request.kind in {None, _kind(a)}]
    for name in request.given:
        pairs = tuple(
            pair
            for pair in pairs
            if name in {pair.a, pair.b} or any(key.startswith(name) for key in pair.answers)
        )
        answers = [
            each for each in answers if name in each.answer.ids or each.answer.key.startswith(name)
        ]
    if request.given and not pairs and not answers:
        raise InputError(
            f"There is no decision about {' and '.join(request.given)}. "
            f"`{command_line('decisions', request.store)}` lists all."
        )
    return replace(made, pairs=pairs, answers=tuple(answers))


def _kind(given: AnswerGiven) -> str:
    """Returns the kind of an answer, as `--kind` names it."""
    return {"accept": "accepted", "skip": "skipped"}.get(given.answer.choice, "different")


# ------------------------------------------------------------------ the list


def _blocks(made: Decisions, request: _Request) -> Iterator[Block]:
    """Yields pairs kept apart, then accepted and skipped answers."""
    waiting = {
        kind: [given for given in made.answers if _kind(given) == kind and given.state != "done"]
        for kind in ("accepted", "skipped")
    }
    done = sum(given.state == "done" for given in made.answers if given.answer.hidden)
    if not made.pairs and not any(waiting.values()):
        yield say(f"No decision stands in {without_password(request.store)}.")
    if made.pairs:
        yield Heading(f"Both stay: {count(len(made.pairs), 'pair')}")
        for pair in made.pairs[: request.top]:
            yield from _pair_blocks(pair)
        yield from _rest(len(made.pairs), request.top)
    for kind, given in waiting.items():
        if given:
            yield Heading(f"{kind.capitalize()}: {count(len(given), 'answer')} of reviews")
            for each in given[: request.top]:
                yield from _answer_blocks(each)
            yield from _rest(len(given), request.top)
    if done:
        yield say(dim(f"{count(done, 'accepted answer')} applied; `echoless undo` goes back."))
    if made.pairs or any(waiting.values()):
        yield from _advice(made, waiting["accepted"], request.store)


def _advice(made: Decisions, accepted: list[AnswerGiven], store: str) -> Iterator[Block]:
    """Yields the commands that take a decision back, or apply answers."""
    own = next((pair for pair in made.pairs if pair.own), None)
    if own is not None:
        yield say("To take a pair back, so that it is proposed again:")
        yield command(command_line("decisions", store, "--withdraw", own.a, own.b))
    given = next((each for each in made.answers if each.state == "waits"), None)
    if given is not None:
        yield say("To take an answer back, so that it is asked again:")
        yield command(command_line("decisions", store, "--withdraw", _short(given.answer.key)))
    if any(each.state == "waits" for each in accepted):
        yield say("To apply what was accepted:")
        yield command(command_line("review", store, "--terminal"))


def _rest(whole: int, top: int) -> Iterator[Block]:
    """Yields how many are not shown."""
    if whole > top:
        yield say(dim(f"{number(whole - top)} more; --top and --json show them."))
    yield Gap()


def _pair_blocks(pair: PairApart) -> Iterator[Block]:
    """Yields one pair: the ids, how it came about and when, both texts."""
    origin = " ".join(filter(None, (pair.origin, pair.at and f"on {pair.at}")))
    yield say(strong(f"{pair.a} and {pair.b}"), f"  {origin}")
    one, other = pair.texts
    yield from _text_blocks({pair.a: one, pair.b: other}, pair.a, [pair.b])
    if pair.state != "holds":
        changed = "A text changed since" if pair.state == "changed" else "A memory is gone"
        yield say(f"{changed}, so this does not count any more.", level=1)
    if not pair.own:
        yield say("Kept by the store's own program; it cannot be taken back here.", level=1)


def _answer_blocks(given: AnswerGiven) -> Iterator[Block]:
    """Yields one answer: its key, its memories, and their fate."""
    answer = given.answer
    yield say(strong(_short(answer.key)), f"  {answer.at}")
    if answer.survivor:
        yield from _text_blocks(given.texts, answer.survivor, answer.hidden, before="keep ")
    else:
        yield from _text_blocks(given.texts, answer.ids[0], answer.ids[1:])
    if answer.text is not None:
        yield say(strong("new text"), f"  {flat(answer.text)}", level=1)
    if given.state == "changed":
        yield say("A memory changed since, so this does not count any more.", level=1)


def _text_blocks(
    texts: Mapping[str, str | None], first: str, others: Iterable[str], *, before: str = ""
) -> Iterator[Block]:
    """Yields a memory, then others with their differences from it.

    Args:
        texts: What the memories say, by id; None for one that is gone.
        first: Id of the memory that is shown whole.
        others: Ids of the others.
        before: Words before the first id.
    """
    one = texts[first]
    yield say(strong(f"{before}{first}"), "  (gone)" if one is None else f"  {flat(one)}", level=1)
    for id_ in others:
        other = texts[id_]
        if one is not None and other is not None and one != other:
            shown = difference(flat(one), flat(other))
        elif other is None:
            shown = (Span("(gone)"),)
        else:
            shown = (Span("the same text" if one == other else flat(other)),)
        yield say(strong(id_), "  ", *shown, level=2)


def _short(key: str) -> str:
    """Returns the beginning of a key, enough to name it."""
    return key[:12]


# ------------------------------------------------------------------ take back


def _withdraw_all(store: Store, request: _Request, made: Decisions) -> None:
    """Takes back all decisions that were chosen, after a question.

    Raises:
        UsageError: There is nobody to ask, or the answer is no.
    """
    pairs, keys = made.own_pairs, made.keys
    whole = f"{count(len(pairs), 'pair')} and {count(len(keys), 'answer')}"
    if (pairs or keys) and not request.yes:
        if request.as_json or not render.is_interactive():
            raise UsageError(f"This takes back {whole}. To do it without being asked, add --yes.")
        if not render.agreed(f"Take back {whole}? [y/N] "):
            raise UsageError("Nothing was taken back.")
    with writing(request.store):
        withdrawn = withdraw_all(store, made) if pairs or keys else Withdrawn((), ())
    _show_withdrawn(store, request, withdrawn)


def _show_withdrawn(store: Store, request: _Request, withdrawn: Withdrawn) -> None:
    """Prints what was taken back."""
    say_notes(store)
    if request.as_json:
        pairs, remaining = withdrawn.pairs, withdrawn.remaining
        render.show_json({"pairs": pairs, "answers": withdrawn.keys, "remaining": remaining})
        return
    if not withdrawn.pairs and not withdrawn.keys:
        render.show([say("There was nothing to take back.")])
    if withdrawn.pairs:
        listed = names(f"{a} and {b}" for a, b in withdrawn.pairs)
        many = count(len(withdrawn.pairs), "pair is", "pairs are")
        render.show([say(f"{many} not kept apart any more: {listed}.")])
    if withdrawn.keys:
        listed = names(map(_short, withdrawn.keys))
        many = count(len(withdrawn.keys), "answer")
        render.show([say(f"{many} of reviews taken back, to be asked again: {listed}.")])
    if withdrawn.remaining:
        listed = names(f"{a} and {b}" for a, b in withdrawn.remaining)
        render.show([say(f"Still kept apart by the store's own program: {listed}.")])
