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
        accepted: Those accepted.
        different: Those called different.
    """

    group_class: GroupClass
    total: int
    open: int
    accepted: int
    different: int

    @property
    def sample_left(self) -> int:
        """Returns how many groups have to be answered before the rest can be accepted at once."""
        return max(0, min(SAMPLE, self.total) - (self.total - self.open))


@dataclass(frozen=True, slots=True)
class AnswerCounts:
    """How many items have which answer.

    A page shows it after each key, and a review may have a hundred thousand unsure pairs: so it is
    counted once, and changed with each answer.

    Attributes:
        of_kind: By kind of item.
        of_class: By class of groups; a class without a group counts 0 everywhere.
    """

    of_kind: Mapping[ItemKind, dict[State, int]]
    of_class: Mapping[GroupClass, dict[State, int]]

    def change(self, item: ReviewItem, old: State, new: State) -> None:
        """Counts an item that had one state and has another."""
        places = [self.of_kind[item.kind]]
        places += [self.of_class[item.group_class]] if item.group_class is not None else []
        for counts in places:
            counts[old] -= 1
            counts[new] += 1

    def class_states(self) -> list[ClassState]:
        """Returns how far a person is with each class that has groups, surest class first."""
        return [
            ClassState(name, total, counts["open"], counts["accept"], counts["different"])
            for name, counts in self.of_class.items()
            if (total := sum(counts.values()))
        ]


def answer_counts(items: Iterable[ReviewItem], state: Callable[[str], State]) -> AnswerCounts:
    """Returns how many items have which answer.

    Args:
        items: All of a review.
        state: Gives the answer to an item by its key.
    """
    of_kind: dict[ItemKind, dict[State, int]] = {kind: dict.fromkeys(STATES, 0) for kind in KINDS}
    of_class: dict[GroupClass, dict[State, int]] = {
        name: dict.fromkeys(STATES, 0) for name in CLASSES
    }
    for item in items:
        answer = state(item.key)
        of_kind[item.kind][answer] += 1
        if item.group_class is not None:
            of_class[item.group_class][answer] += 1
    return AnswerCounts(of_kind, of_class)
