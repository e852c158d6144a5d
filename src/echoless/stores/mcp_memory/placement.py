"""Places of hidden elements in a list that another program may have rewritten since."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from echoless.core.errors import BadRecord
from echoless.core.model import Json, JsonObject

Shown = TypeVar("Shown")
Hidden = TypeVar("Hidden")


@dataclass(frozen=True, slots=True)
class ListPlace:
    """Place of an element in a list with all hidden elements in it.

    Attributes:
        at: Its index.
        after: Key of the visible element before it; empty if there is none.
        before: Key of the visible element behind it; empty if there is none.
    """

    at: int
    after: str = ""
    before: str = ""

    def to_json(self) -> dict[str, Json]:
        """Returns the place as JSON."""
        return {"at": self.at, "after": self.after, "before": self.before}

    @classmethod
    def from_json(cls, data: JsonObject) -> ListPlace:
        """Reads what `to_json` wrote.

        Raises:
            BadRecord: It has another form.
        """
        at, after, before = data.get("at"), data.get("after"), data.get("before")
        if not (isinstance(at, int) and isinstance(after, str) and isinstance(before, str)):
            raise BadRecord("a place has the wrong form")
        return cls(at, after, before)


@dataclass(frozen=True, slots=True)
class Slot(Generic[Shown, Hidden]):
    """An element of the whole list: a visible one or a hidden one."""

    shown: Shown | None = None
    hidden: Hidden | None = None


def placed(
    shown: Sequence[Shown],
    key: Callable[[Shown], str],
    hidden: Iterable[tuple[ListPlace, Hidden]],
) -> list[Slot[Shown, Hidden]]:
    """Returns the whole list: hidden elements at their places among the visible ones.

    Where the visible ones are as they were, the list is exactly as it was. Otherwise a hidden
    element comes behind the one it stood behind, or else before the one it stood before, or else at
    its index.

    Args:
        shown: The visible elements.
        key: What a visible element is known by.
        hidden: Hidden elements, each with its place.
    """
    whole: list[Slot[Shown, Hidden]] = [Slot(shown=each) for each in shown]
    visible: list[Shown | None] = [*shown]
    keys: list[str | None] = []  # of all, where a neighbour has to be looked for
    for place, element in sorted(hidden, key=lambda each: each[0].at):
        at = min(place.at, len(visible))
        if _nearest(visible, key, at - 1, -1) != place.after:
            keys = keys or [None if each is None else key(each) for each in visible]
            at = _beside(keys, place, at)
        while at < len(visible) and visible[at] is None:  # those before it are in their order
            at += 1
        whole.insert(at, Slot(hidden=element))
        visible.insert(at, None)
        if keys:
            keys.insert(at, None)
    return whole


def _beside(keys: Sequence[str | None], place: ListPlace, at: int) -> int:
    """Returns where an element comes whose neighbours are not where they were.

    Args:
        keys: Of the elements that are in the list; None for hidden ones.
        place: Former place of the element.
        at: Index where neither of the two is in the list.
    """
    if place.after in keys:
        return keys.index(place.after) + 1
    return keys.index(place.before) if place.before in keys else at


def place_at(visible: Sequence[Shown | None], key: Callable[[Shown], str], at: int) -> ListPlace:
    """Returns the place of the element with an index.

    Args:
        visible: All elements; None for hidden ones.
        key: What a visible element is known by.
        at: The index.
    """
    return ListPlace(at, _nearest(visible, key, at - 1, -1), _nearest(visible, key, at + 1, 1))


def _nearest(
    visible: Sequence[Shown | None], key: Callable[[Shown], str], at: int, step: int
) -> str:
    """Returns the key of the nearest visible element in one direction; empty if there is none."""
    while 0 <= at < len(visible):
        element = visible[at]
        if element is not None:
            return key(element)
        at += step
    return ""
