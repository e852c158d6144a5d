"""Answers of a person in a review, as values and as records of the ledger."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Final, Literal, TypeAlias, get_args

from echoless.core import json_codec as codec
from echoless.core.errors import BadRecord, UsageError
from echoless.core.model import Json, JsonObject
from echoless.execution.rollback import keep_both, keep_both_no_more
from echoless.stores.base import Store, together_with_ledger
from echoless.stores.ledger import Ledger

Choice: TypeAlias = Literal["accept", "different", "skip"]
CHOICES: Final[tuple[Choice, ...]] = get_args(Choice)

REVIEW: Final = "review"
"""Origin that the ledger records for decisions of a review."""


class AnsweredElsewhere(UsageError):
    """Error for an item whose answer changed since its reader saw it, as in a second window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Decision of a person about one item.

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
                f"`echoless decisions STORE --withdraw {key}`."
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


def take_back_answers(
    store: Store, standing: Mapping[str, Answer], keys: Collection[str]
) -> tuple[tuple[str, str], ...]:
    """Takes answers back, with the pairs that no other answer records as different.

    Args:
        store: Of the memories.
        standing: All answers in force, by key.
        keys: Of those to take back.

    Returns:
        Pairs that are not kept apart by an answer any more.
    """
    with recording(store):
        after = {key: answer for key, answer in standing.items() if key not in keys}
        store.ledger.withdraw_reviews(keys)
        return _free(store, [standing[key] for key in keys], after)


def _free(
    store: Store, gone: Collection[Answer], after: Mapping[str, Answer]
) -> tuple[tuple[str, str], ...]:
    """Removes the keep-apart pairs of withdrawn answers unless another answer records the pair."""
    others = {pair for answer in after.values() for pair in answer.apart}
    pairs = tuple(sorted({pair for answer in gone for pair in answer.apart} - others))
    keep_both_no_more(store, list(pairs))
    return pairs


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
