"""Which items of a review are shown, and how far a person is with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from echoless.workflows.review.items import SAMPLE, GroupClass, ItemKind

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
