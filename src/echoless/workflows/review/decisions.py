"""What people decided about the memories of a store: pairs kept apart, and answers of reviews.

A pair is kept apart by a review, a merge that was declined, an agent, or an undo. All of them are
rows of the ledger; this lists them with what they are worth now, and takes them back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from echoless.core.destination import command_line
from echoless.core.errors import BadRecord, InputError, UsageError
from echoless.core.model import Json, Memory
from echoless.execution.rollback import keep_both_no_more
from echoless.stores.base import Store
from echoless.stores.ledger import Kept, Ledger
from echoless.workflows.review.answers import (
    REVIEW,
    Answer,
    recording,
    standing_answers,
    take_back_answers,
)
from echoless.workflows.review.items import item_key

Ids: TypeAlias = tuple[str, str]
PairState: TypeAlias = Literal["holds", "changed", "gone"]
AnswerState: TypeAlias = Literal["waits", "done", "changed"]

UNDO: Final = "undo"
STORE: Final = "store"

ORIGINS: Final[Mapping[str, str]] = {
    REVIEW: "in a review",
    "consolidate": "by consolidate --keep-both",
    "mcp": "by an agent (memory_keep_both)",
    "ego-mcp": "by ego-mcp",
    "wt-memory": "by wt-memory",
    "library": "by a program (keep_both)",
    STORE: "by the store's own program",
}
"""Origin of a decision, as a clause, by its name in the ledger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairApart:
    """Two memories that somebody keeps apart.

    Attributes:
        a: Smaller id.
        b: Other id.
        one: The present memory a; None if it is gone.
        other: The memory b, or None.
        at: When it was decided, ISO 8601 UTC; empty where nothing tells it.
        by: What the decision came through: `review`, `consolidate`, `mcp` (an agent), `ego-mcp`,
            `wt-memory`, `library`, `undo`, or `store` (the store's own program remembers it).
        run: Of an undo: the run that was undone.
        answers: Keys of the answers of reviews that record it.
        times: Whether the latest of these says that both are true, each at a time of its own.
        state: `holds`, or why it does not count: a text `changed`, or a memory is `gone`.
        own: Whether it is recorded here; others cannot be taken back.
    """

    a: str
    b: str
    one: Memory | None
    other: Memory | None
    at: str
    by: str
    run: str
    answers: tuple[str, ...]
    times: bool
    state: PairState
    own: bool

    @property
    def texts(self) -> tuple[str | None, str | None]:
        """Returns what both say now; None for a memory that is gone."""
        one, other = self.one, self.other
        return (one.content if one else None, other.content if other else None)

    @property
    def origin(self) -> str:
        """Returns the origin of the decision, as a clause; empty if it is unknown."""
        origin = f"by undo of {self.run}" if self.by == UNDO else ORIGINS.get(self.by, self.by)
        return f"{origin}: both are true, at different times" if self.times else origin

    def to_json(self) -> dict[str, Json]:
        """Returns the pair as in `echoless decisions --json`."""
        return {
            "a": self.a,
            "b": self.b,
            "texts": list(self.texts),
            "at": self.at,
            "by": self.by,
            "run": self.run,
            "answers": list(self.answers),
            "times": self.times,
            "state": self.state,
            "own": self.own,
        }


@dataclass(frozen=True, slots=True)
class AnswerGiven:
    """Answer of a review, with what it is worth now.

    Attributes:
        answer: The answer.
        memories: Present memories of the answer, by id, without the memories that are gone.
        state: `waits` for a review to apply it; `done` if nothing is left to do, as all that go
            are hidden or gone, or the pairs are kept apart; `changed` if a text changed since, or a
            memory is gone or hidden: it does not count.
    """

    answer: Answer
    memories: Mapping[str, Memory]
    state: AnswerState

    @property
    def texts(self) -> dict[str, str | None]:
        """Returns the present texts of the memories, by id; None for a memory that is gone."""
        present = self.memories
        return {id_: present[id_].content if id_ in present else None for id_ in self.answer.ids}

    def to_json(self) -> dict[str, Json]:
        """Returns the answer as in `echoless decisions --json`."""
        return {**self.answer.to_json(), "state": self.state, "texts": {**self.texts}}


@dataclass(frozen=True, slots=True)
class Decisions:
    """All decisions of people about a store.

    Attributes:
        pairs: Kept apart, latest first.
        answers: Of reviews, latest first.
    """

    pairs: tuple[PairApart, ...]
    answers: tuple[AnswerGiven, ...]

    @property
    def own_pairs(self) -> list[Ids]:
        """Returns the pairs that can be taken back."""
        return [(pair.a, pair.b) for pair in self.pairs if pair.own]

    @property
    def keys(self) -> set[str]:
        """Returns the keys of the answers that are taken back with all that can be."""
        own = {key for pair in self.pairs if pair.own for key in pair.answers}
        return own | {given.answer.key for given in self.answers}


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """What was taken back.

    Attributes:
        pairs: Not kept apart any more.
        keys: Of answers; what they were about is open again.
        remaining: Pairs that the program of the store keeps apart all the same.
    """

    pairs: tuple[Ids, ...]
    keys: tuple[str, ...]
    remaining: tuple[Ids, ...] = ()


# ------------------------------------------------------------------ list


def decisions(store: Store) -> Decisions:
    """Returns all decisions of people about a store; reads only.

    Raises:
        BadRecord: An answer cannot be read; the message names it.
        LedgerDamaged: A row of the ledger cannot be read.
    """
    ledger = store.ledger
    answers, apart = standing_answers(ledger), ledger.kept()
    ids = {id_ for pair in apart for id_ in pair.ids}
    ids.update(id_ for answer in answers.values() for id_ in answer.ids)
    memories = store.get(ids)
    hidden = ledger.marks_of(ids).keys()
    given = [_given(answer, memories, hidden) for answer in answers.values()]
    return Decisions(
        pairs=tuple(_pairs(ledger, apart, answers, memories)),
        answers=tuple(sorted(given, key=lambda each: -each.answer.number)),
    )


def _given(answer: Answer, memories: Mapping[str, Memory], hidden: Collection[str]) -> AnswerGiven:
    """Returns an answer with its present state."""
    present = {id_: memories[id_] for id_ in answer.ids if id_ in memories}
    shown = [memory for id_, memory in present.items() if id_ not in hidden]
    state: AnswerState = "done" if answer.choice == "different" else "waits"
    if answer.hidden and not {each.id for each in shown}.intersection(answer.hidden):
        state = "done"
    elif item_key(answer.kind, shown) != answer.key:
        state = "changed"
    return AnswerGiven(answer, present, state)


def _pairs(
    ledger: Ledger,
    apart: Iterable[Kept],
    answers: Mapping[str, Answer],
    memories: Mapping[str, Memory],
) -> list[PairApart]:
    """Returns the pairs kept apart, latest first."""
    own = {each.ids for each in ledger.own_kept()}
    reviewed: dict[Ids, list[Answer]] = {}
    for answer in answers.values():
        for pair in answer.apart:
            reviewed.setdefault(pair, []).append(answer)
    origins = _origins(ledger, own)
    pairs = []
    for each in apart:
        by, at, run = origins.get(each.ids, ("" if each.ids in own else STORE, "", ""))
        recorded = reviewed.get(each.ids, [])
        if recorded and by in {"", REVIEW}:  # lineage of another file may lack the event
            by, at = REVIEW, max(answer.at for answer in recorded)
        one, other = memories.get(each.a), memories.get(each.b)
        pairs.append(
            PairApart(
                a=each.a,
                b=each.b,
                one=one,
                other=other,
                at=at,
                by=by,
                run=run,
                answers=tuple(answer.key for answer in recorded),
                times=bool(recorded) and max(recorded, key=lambda each: each.number).times,
                state=_state(each, one, other),
                own=each.ids in own,
            )
        )
    pairs.sort(key=lambda pair: (pair.a, pair.b))
    pairs.sort(key=lambda pair: pair.at, reverse=True)
    return pairs


def _state(pair: Kept, one: Memory | None, other: Memory | None) -> PairState:
    """Returns whether a pair counts."""
    if one is None or other is None:
        return "gone"
    return "holds" if pair.holds(one, other) else "changed"


def _origins(ledger: Ledger, wanted: Collection[Ids]) -> dict[Ids, tuple[str, str, str]]:
    """Returns what each decision came through, when, and the run of an undo, by pair.

    An undo has one event for all its pairs, so they are looked up in what its run did.
    """
    latest: dict[Ids, tuple[int, str, str, str]] = {}

    def note(pair: Ids, number: int, by: str, at: str, run: str = "") -> None:
        if pair in wanted and latest.get(pair, (0,))[0] < number:
            latest[pair] = number, by, at, run

    for event in ledger.events(kind="kept_both"):
        by = event.data.get("by")
        pair = str(event.data.get("a")), str(event.data.get("b"))
        note(pair, event.seq, by if isinstance(by, str) else "", event.at)
    for event in ledger.events(kind="run_undone"):
        if event.data.get("kept_both") == 0:
            continue
        actions = _actions_of(ledger, event.run)
        nowhere: set[int] = set()
        for a, b in wanted:
            if actions.get(a, nowhere) & actions.get(b, nowhere):
                note((a, b), event.seq, UNDO, event.at, event.run)
    return {pair: (by, at, run) for pair, (_, by, at, run) in latest.items()}


def _actions_of(ledger: Ledger, run: str) -> dict[str, set[int]]:
    """Returns the actions of a run that a memory was in, as their places, by its id."""
    actions: dict[str, set[int]] = {}
    for place, event in enumerate(ledger.events(run, "action_started")):
        members = event.data.get("members")
        listed = members if isinstance(members, list) else []
        ids = [each.get("id") for each in listed if isinstance(each, Mapping)]
        for id_ in (event.data.get("survivor"), *ids):
            actions.setdefault(str(id_), set()).add(place)
    return actions


# ------------------------------------------------------------------ take back


def withdraw_pair(store: Store, a: str, b: str) -> Withdrawn:
    """Takes back that two memories are different; they are proposed again if they look alike.

    Answers of reviews that record the pair are taken back whole, so that every list agrees.

    Args:
        store: Of the memories.
        a: Id of a memory.
        b: Id of the second memory.

    Raises:
        InputError: The pair is not kept apart.
        UsageError: The program of the store keeps it apart, which echoless cannot take back.
        BadRecord: An answer cannot be read.
    """
    pair = min(a, b), max(a, b)
    if pair not in {each.ids for each in store.ledger.kept()}:
        raise InputError(
            f"{a} and {b} are not kept apart. `{command_line('decisions', store.url)}` lists what "
            "is."
        )
    if pair not in {each.ids for each in store.ledger.own_kept()}:
        raise UsageError(
            f"{a} and {b} are kept apart by the program of this store, which shows both again "
            "after they were merged. Only that program can take it back."
        )
    standing = standing_answers(store.ledger)
    keys = [key for key, answer in standing.items() if pair in answer.apart]
    return _withdraw(store, standing, keys, [pair])


def withdraw_answer(store: Store, key: str) -> Withdrawn:
    """Takes back one answer of a review, with pairs that no other answer records as different.

    Where an answer is damaged it takes back the answer alone, so that others can be read again.

    Args:
        store: Of the memories.
        key: Of the answer, or its first characters if no other key starts so.

    Raises:
        InputError: No answer has that key.
        UsageError: Several have.
    """
    keys = [each for each in store.ledger.reviews() if each.startswith(key)]
    if not key or not keys:
        raise InputError(
            f"No answer has the key {key!r}. `{command_line('decisions', store.url)}` lists the "
            "keys; a pair that is kept apart is named by its two ids."
        )
    if len(keys) > 1:
        raise UsageError(
            f"{len(keys)} answers have a key that starts with {key!r}. Give more of it: "
            f"{', '.join(sorted(keys)[:3])}."
        )
    try:
        standing = standing_answers(store.ledger)
    except BadRecord:
        with recording(store):
            store.ledger.withdraw_reviews(keys)
        return Withdrawn((), tuple(keys))
    return _withdraw(store, standing, keys, [])


def withdraw_all(store: Store, chosen: Decisions) -> Withdrawn:
    """Takes back several decisions at once; what the program of the store remembers stays.

    Args:
        store: Of the memories.
        chosen: Those to take back, from `decisions`.
    """
    standing = standing_answers(store.ledger)
    keys = chosen.keys
    ordered = [key for key in standing if key in keys]
    return _withdraw(store, standing, ordered, chosen.own_pairs)


def _withdraw(
    store: Store, standing: Mapping[str, Answer], keys: list[str], pairs: list[Ids]
) -> Withdrawn:
    """Takes answers and pairs back in one transaction."""
    before = {each.ids for each in store.ledger.own_kept()}
    with recording(store):
        freed = take_back_answers(store, standing, keys) if keys else ()
        keep_both_no_more(store, pairs)
    gone = tuple(sorted(before & {*freed, *pairs}))
    still = {each.ids for each in store.ledger.kept()}
    return Withdrawn(gone, tuple(keys), tuple(pair for pair in gone if pair in still))
