"""What people decided about a store: answers, as values and as records of the ledger.

An answer is given in a review. A pair that an agent, a program or an undo keeps apart is listed
beside the answers as a decision of the same form, with what it is worth now, and taken back by the
same call.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Final, Literal, TypeAlias, get_args

from echoless.core import json_codec as codec
from echoless.core.destination import command_line
from echoless.core.errors import BadRecord, InputError, UsageError
from echoless.core.model import Json, JsonObject, Memory, digest
from echoless.execution.rollback import keep_both, keep_both_no_more
from echoless.stores.base import Store, together_with_ledger
from echoless.stores.ledger import Kept, Ledger
from echoless.workflows.review.claims import claims_of
from echoless.workflows.review.items import ReviewItem, item_key, note_id

Choice: TypeAlias = Literal["accept", "different", "skip"]
CHOICES: Final[tuple[Choice, ...]] = get_args(Choice)

REVIEW: Final = "review"
"""Origin that the ledger records for decisions of a review."""

ALL: Final = "all"
"""Names all decisions, where one is named by its key."""

Worth: TypeAlias = Literal["holds", "done", "changed", "gone"]
"""What a decision is worth: it counts; nothing is left to do; a text changed; a memory is gone."""

ORIGINS: Final[Mapping[str, str]] = {
    REVIEW: "in a review",
    "mcp": "by an agent (memory_keep_both)",
    "ego-mcp": "by ego-mcp",
    "wt-memory": "by wt-memory",
    "library": "by a program (keep_both)",
    "store": "by the store's own program",
}
"""Origin of a decision, as a clause, by its name in the ledger."""


class AnsweredElsewhere(UsageError):
    """Error for an item whose answer changed since its reader saw it, as in a second window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """StandingDecision of a person about one item.

    Attributes:
        key: Of the item.
        kind: Of the item.
        choice: `accept`, `different` or `skip`.
        ids: All memories of the item.
        survivor: Of an accepted item: the memory that stays.
        hidden: Of an accepted item: the memories that go behind it.
        apart: Pairs that this answer recorded as different, smaller id first.
        times: Of a `different` item: whether all are true, each at a time of its own.
        text: New text of the survivor; None leaves it as it is.
        batch: Common to answers that were given at once; empty for a single one.
        at: When, ISO 8601 UTC.
        number: Place in the ledger; a later answer has a larger number.
    """

    key: str
    kind: str
    choice: Choice
    ids: tuple[str, ...]
    survivor: str = ""
    hidden: tuple[str, ...] = ()
    apart: tuple[tuple[str, str], ...] = ()
    times: bool = False
    text: str | None = None
    batch: str = ""
    at: str = ""
    number: int = 0

    def to_json(self) -> dict[str, Json]:
        """Returns the data of its event in the ledger."""
        data = asdict(self)
        del data["number"]
        return data


def answer_words(answer: Answer) -> str:
    """Returns what a person answered, in words."""
    stay = "Both stay" if len(answer.ids) == 2 else "All stay"
    words = {"accept": "Accepted", "skip": "Skipped"}.get(answer.choice, stay)
    return f"{words}, true at different times" if answer.times else words


def placed(answer: Answer, item: ReviewItem) -> Answer:
    """Returns an answer about claims with the lines that they have now."""
    now = dict(zip(answer.ids, item.ids, strict=True))
    hidden = tuple(now[id_] for id_ in answer.hidden)
    return replace(answer, ids=item.ids, survivor=now.get(answer.survivor, ""), hidden=hidden)


def answer_from_json(data: JsonObject, number: int = 0) -> Answer:
    """Returns an answer from what `Answer.to_json` gave.

    Args:
        data: As in the ledger.
        number: Of the event.

    Raises:
        BadRecord: A part is missing or has the wrong form; the message names it.
    """
    choice = next((each for each in CHOICES if each == data.get("choice")), None)
    if choice is None:
        raise BadRecord(f"'choice' must be one of {', '.join(CHOICES)}")
    text = data.get("text")
    if text is not None and not isinstance(text, str):
        raise BadRecord("'text' must be text or null")
    pairs = data.get("apart")
    if not isinstance(pairs, list):
        raise BadRecord("'apart' must be a list")
    return Answer(
        key=codec.read_text(data, "key"),
        kind=codec.read_text(data, "kind"),
        choice=choice,
        ids=_texts(data, "ids"),
        survivor=codec.read_text(data, "survivor"),
        hidden=_texts(data, "hidden"),
        apart=tuple(_pair(pair) for pair in pairs),
        times=data.get("times") is True,
        text=text,
        batch=codec.read_text(data, "batch"),
        at=codec.read_text(data, "at"),
        number=number,
    )


def standing_answers(ledger: Ledger) -> dict[str, Answer]:
    """Returns the answers that people gave and did not take back, by key, oldest first.

    Raises:
        BadRecord: One cannot be read; the message names it.
    """
    answers = {}
    for key, (number, data) in ledger.reviews().items():
        try:
            answers[key] = answer_from_json(data, number)
        except BadRecord as problem:
            raise BadRecord(
                f"An answer of a review is damaged: {problem}. Take it back: "
                f"`echoless review STORE --decide {key}=open`."
            ) from problem
    return answers


@contextmanager
def recording(store: Store) -> Iterator[None]:
    """Opens one transaction of the ledger; it can be written only once the store is for writing."""
    with store.writing(), together_with_ledger(store), store.ledger.transaction():
        yield


def record_answers(
    store: Store, standing: Mapping[str, Answer], answers: Collection[Answer]
) -> list[Answer]:
    """Writes answers and their pairs of different memories, in place of earlier answers.

    Args:
        store: Of the memories.
        standing: All answers in force, by key.
        answers: New ones.

    Returns:
        The same answers with their numbers.
    """
    with recording(store):
        after = {**standing, **{answer.key: answer for answer in answers}}
        replaced = [standing[answer.key] for answer in answers if answer.key in standing]
        _free(store, replaced, after)
        numbers = store.ledger.save_reviews([answer.to_json() for answer in answers])
        pairs = [pair for answer in answers for pair in answer.apart]
        if pairs:
            keep_both(store, pairs, by=REVIEW)
    return [replace(answer, number=number) for answer, number in zip(answers, numbers, strict=True)]


def take_back_answers(store: Store, standing: Mapping[str, Answer], keys: Collection[str]) -> None:
    """Takes answers back, with the pairs that no other answer records as different.

    Args:
        store: Of the memories.
        standing: All answers in force, by key.
        keys: Of those to take back.
    """
    with recording(store):
        after = {key: answer for key, answer in standing.items() if key not in keys}
        store.ledger.withdraw_reviews(keys)
        _free(store, [standing[key] for key in keys], after)


def _free(store: Store, gone: Collection[Answer], after: Mapping[str, Answer]) -> None:
    """Removes the keep-apart pairs of withdrawn answers unless another answer records the pair."""
    others = {pair for answer in after.values() for pair in answer.apart}
    keep_both_no_more(store, list({pair for answer in gone for pair in answer.apart} - others))


# ------------------------------------------------------------------ all decisions of a store


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingDecision:
    """An answer, or a pair that something but a review keeps apart, with what it is worth now.

    Attributes:
        answer: The answer; of such a pair `different`, with a key of its own.
        memories: Those of its memories that are there, by id.
        worth: Whether it counts. An accepted answer is `done` once all that go are hidden or gone.
        by: What it came through: `review`, `mcp` (an agent), `ego-mcp`, `wt-memory`, `library`,
            `undo of RUN`, `store` (the store's own program remembers it), or empty.
        own: Whether it is recorded here; others cannot be taken back.
    """

    answer: Answer
    memories: Mapping[str, Memory]
    worth: Worth
    by: str = REVIEW
    own: bool = True

    @property
    def key(self) -> str:
        """Returns the key that names the decision."""
        return self.answer.key

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Returns the pairs that it keeps apart; those of the first memory if others do so too."""
        first, *others = self.answer.ids
        every = tuple((first, other) for other in others)
        return self.answer.apart or (every if self.answer.choice == "different" else ())

    @property
    def origin(self) -> str:
        """Returns the origin of the decision, as a clause; empty if it is unknown."""
        origin = ORIGINS.get(self.by, f"by {self.by}" if self.by else "")
        return f"{origin}: both are true, at different times" if self.answer.times else origin

    @property
    def texts(self) -> dict[str, str | None]:
        """Returns the present texts of the memories, by id; None for a memory that is gone."""
        memories = self.memories
        return {id_: memories[id_].content if id_ in memories else None for id_ in self.answer.ids}

    def to_json(self) -> dict[str, Json]:
        """Returns the decision as in `echoless review --list --json`."""
        state: dict[str, Json] = {"worth": self.worth, "by": self.by, "own": self.own}
        return {**self.answer.to_json(), **state, "texts": {**self.texts}}


def decisions(store: Store) -> list[StandingDecision]:
    """Returns all decisions of people about a store, latest first; reads only.

    Raises:
        BadRecord: An answer cannot be read; the message names it.
        LedgerDamaged: A row of the ledger cannot be read.
    """
    ledger = store.ledger
    answers = standing_answers(ledger)
    recorded = {pair for answer in answers.values() for pair in answer.apart}
    pairs = [pair for pair in ledger.kept() if pair.ids not in recorded]
    ids = {id_ for pair in pairs for id_ in pair.ids}
    claims = {i for answer in answers.values() if answer.kind == "claim" for i in answer.ids}
    ids.update(id_ for answer in answers.values() for id_ in answer.ids)
    notes = store.get(map(note_id, claims))
    parts = {i: each for note in notes.values() for i, (_, each) in claims_of(note).items()}
    memories = {**store.get(ids - claims), **{i: parts[i] for i in claims & parts.keys()}}
    hidden = ledger.marks_of(ids).keys()
    origins = {
        (event.data.get("a"), event.data.get("b")): (str(event.data.get("by") or ""), event.at)
        for event in ledger.events(kind="kept_both")
    }
    own = {each.ids for each in ledger.own_kept()}
    made = [_answered(answer, memories, hidden) for answer in answers.values()]
    for pair in pairs:
        by, at = origins.get(pair.ids, ("", "")) if pair.ids in own else ("store", "")
        made.append(_pair_apart(pair, memories, by, at, own=pair.ids in own))
    return sorted(made, key=lambda each: (each.answer.at, each.answer.number), reverse=True)


def _answered(
    answer: Answer, memories: Mapping[str, Memory], hidden: Collection[str]
) -> StandingDecision:
    """Returns an answer with what it is worth."""
    present = {id_: memories[id_] for id_ in answer.ids if id_ in memories}
    apart = answer.choice == "different"
    shown = [memory for id_, memory in present.items() if apart or id_ not in hidden]
    worth: Worth = "holds"
    if answer.hidden and not {each.id for each in shown}.intersection(answer.hidden):
        worth = "done"
    elif len(present) < len(answer.ids):
        worth = "gone"
    elif item_key(answer.kind, shown) != answer.key:
        worth = "changed"
    if answer.kind == "claim" and answer.hidden and worth != "holds":
        worth = "done"  # it was taken out, by a plan or by hand
    return StandingDecision(answer=answer, memories=present, worth=worth)


def _pair_apart(
    pair: Kept, memories: Mapping[str, Memory], by: str, at: str, *, own: bool
) -> StandingDecision:
    """Returns a pair that no answer records."""
    key = digest(["apart", *pair.ids])
    different = Answer(
        key=key, kind="unsure", choice="different", ids=pair.ids, apart=(pair.ids,), at=at
    )
    present = {id_: memories[id_] for id_ in pair.ids if id_ in memories}
    worth: Worth = "gone"
    if len(present) == 2:
        worth = "holds" if pair.holds(present[pair.a], present[pair.b]) else "changed"
    return StandingDecision(answer=different, memories=present, worth=worth, by=by, own=own)


def withdraw(store: Store, name: str) -> list[str]:
    """Takes decisions back: what they were about is asked again where it looks alike.

    A damaged answer is taken back alone, so that others can be read again.

    Args:
        store: Of the memories.
        name: The key of a decision, or its first characters if no other key starts so; or `ALL`,
            which leaves what the program of the store remembers.

    Returns:
        The keys of what was taken back.

    Raises:
        InputError: No decision has that key.
        UsageError: Several have, or only the program of the store can take it back.
    """
    try:
        made = decisions(store)
    except BadRecord:
        keys = [key for key in store.ledger.reviews() if name and key.startswith(name)]
        if len(keys) != 1:
            raise
        with recording(store):
            store.ledger.withdraw_reviews(keys)
        return keys
    chosen = [each for each in made if each.own]
    if name != ALL:
        chosen = [each for each in made if name and each.key.startswith(name)]
        if not chosen:
            line = command_line("review", store.url, "--list")
            raise InputError(f"No decision has the key {name!r}. `{line}` lists the keys.")
        if len(chosen) > 1:
            keys = sorted(each.key for each in chosen)[:3]
            raise UsageError(
                f"{len(chosen)} keys start with {name!r}. Give more of it: {', '.join(keys)}."
            )
        if not chosen[0].own:
            raise UsageError(
                f"{' and '.join(chosen[0].answer.ids)} are kept apart by the program of this "
                "store, which shows both again after they were merged. Only that program can take "
                "it back."
            )
    if chosen:
        standing = standing_answers(store.ledger)
        bare = [pair for each in chosen if each.key not in standing for pair in each.pairs]
        with recording(store):
            take_back_answers(store, standing, [e.key for e in chosen if e.key in standing])
            keep_both_no_more(store, bare)
    return [each.key for each in chosen]


# ------------------------------------------------------------------ reading


def _texts(data: JsonObject, name: str) -> tuple[str, ...]:
    """Returns a list of texts."""
    value = data.get(name)
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise BadRecord(f"{name!r} must be a list of texts")
    return tuple(str(each) for each in value)


def _pair(value: Json) -> tuple[str, str]:
    """Returns a pair of ids."""
    match value:
        case [str(a), str(b)]:
            return a, b
        case _:
            raise BadRecord("'apart' must hold pairs of ids")
