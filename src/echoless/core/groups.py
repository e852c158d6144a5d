"""Groups of memories that say the same, as values."""

from __future__ import annotations

from dataclasses import dataclass

from echoless.core.model import Judged


@dataclass(frozen=True, slots=True)
class Membership:
    """One member of a group, which a plan may hide behind the survivor.

    Attributes:
        id: The memory.
        judged: Its direct verdict with the survivor; None only in a transitive group, or one begun
            from another centre, for members that never matched the survivor itself.
    """

    id: str
    judged: Judged | None


@dataclass(frozen=True, slots=True)
class Group:
    """Memories that say the same.

    Attributes:
        survivor: The one that stays visible.
        members: The others, by id.
    """

    survivor: str
    members: tuple[Membership, ...]
