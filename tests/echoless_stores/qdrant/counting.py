"""What rows of a hostile folder ask for in the tests: nothing but to be counted."""

from __future__ import annotations

CALLS: list[str] = []
"""What was called since a test emptied it."""


def count(*_given: object) -> str:
    CALLS.append("count")
    return ""


class Counted:
    """Counts that it is made by `__reduce__`, given a state, or asked for a name within it."""

    count = staticmethod(count)

    def __reduce__(self) -> tuple[object, ...]:
        return count, ()

    def __setstate__(self, _state: object) -> None:
        CALLS.append("state")
