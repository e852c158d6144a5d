"""Numbers in sentences for a reader."""

from __future__ import annotations


def number(value: int) -> str:
    """Returns a number with thousands separators."""
    return f"{value:,}"


def percent(share: float) -> str:
    """Returns a share as a percentage with one decimal place."""
    return f"{share * 100:.1f}%"


def count(amount: int, one: str, many: str | None = None) -> str:
    """Returns an amount with a noun, such as `1 group` or `2 groups`."""
    return f"{number(amount)} {one if amount == 1 else many or one + 's'}"
