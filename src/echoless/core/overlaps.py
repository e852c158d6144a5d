"""Notes that two long texts share passages, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MOST: Final = 0.5
"""Share of the words of a note above which most of it is in another one: more than half."""


@dataclass(frozen=True, slots=True)
class SharedPassage:
    """A passage of one note and the matching passage of the other note.

    Attributes:
        a: Offsets of its start and end in the text of a.
        b: The same in the text of b.
        verdict: Of the judge, on the two passages: `duplicate`, `subsumes`, `update`, …
    """

    a: tuple[int, int]
    b: tuple[int, int]
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """Two notes that stay apart though most of one is in the other.

    Attributes:
        a: The smaller id.
        b: The larger id.
        share_a: Share of the words of a that lie in passages b says too, 0 to 1.
        share_b: The same of b.
        passages: Those one side says like the other, in the order of a.
        differing: Those that state another value of one thing, in the order of a.
    """

    a: str
    b: str
    share_a: float
    share_b: float
    passages: tuple[SharedPassage, ...]
    differing: tuple[SharedPassage, ...] = ()

    @property
    def largest(self) -> float:
        """Returns the larger of the two shares."""
        return max(self.share_a, self.share_b)
