"""Which items of a review are shown, and how far a person is with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from echoless.workflows.review.items import (
    CLASSES,
    KINDS,
    SAMPLE,
    GroupClass,
    ItemKind,
    ReviewItem,
)

State: TypeAlias = Literal["open", "accept", "different", "skip"]
STATES: Final[tuple[State, ...]] = get_args(State)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which items are shown.

    Attributes:
        kind: Of the items.
        words: Each has to be in the text or the id of one memory, in any case.
        namespace: Only this one; all if None.
        group_class: Only groups of this class; all if None.
        state: Only items without an answer (`open`), or with this one; all if None.
    """

    kind: ItemKind = "same"
    words: str = ""
    namespace: str | None = None
    group_class: GroupClass | None = None
    state: State | None = None


@dataclass(frozen=True, slots=True)
class ClassState:
    """How far a person is with a class of groups.

    Attributes:
        group_class: The class.
        total: Groups of it.
        open: Those without an answer.
    """

    group_class: GroupClass
    total: int
    open: int

    @property
    def sample_left(self) -> int:
        """Returns how many groups have to be answered before the rest can be accepted at once."""
        return max(0, min(SAMPLE, self.total) - (self.total - self.open))


AnswerCounts: TypeAlias = Mapping[str, dict[State, int]]
"""How many items have which answer, by kind of item and by class of groups.

A page shows it after each key, and a review may have a hundred thousand unsure pairs: so it is
counted once, and changed with each answer.
"""


def answer_counts(items: Iterable[ReviewItem], state: Callable[[str], State]) -> AnswerCounts:
    """Returns how many items have which answer.

    Args:
        items: All of a review.
        state: Gives the answer to an item by its key.
    """
    counts: AnswerCounts = {name: dict.fromkeys(STATES, 0) for name in (*KINDS, *CLASSES)}
    for item in items:
        count_item(counts, item, state(item.key), 1)
    return counts


def count_item(counts: AnswerCounts, item: ReviewItem, state: State, more: int) -> None:
    """Counts an item in its kind and its class.

    Args:
        counts: Changed in place.
        item: Any.
        state: Its answer.
        more: 1 for one more, -1 for one less.
    """
    counts[item.kind][state] += more
    if item.group_class is not None:
        counts[item.group_class][state] += more


def class_states(counts: AnswerCounts) -> list[ClassState]:
    """Returns how far a person is with each class that has groups, surest class first."""
    return [
        ClassState(name, total, counts[name]["open"])
        for name in CLASSES
        if (total := sum(counts[name].values()))
    ]
