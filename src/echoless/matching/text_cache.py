"""Cache of results for texts, within a limit of memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

MOST: Final = 1_500_000
"""Characters of the texts in one generation: facts take some 150 bytes a character."""

_T = TypeVar("_T")


class ByText(Generic[_T]):
    """A function of one text with a cache of its results.

    Results are kept in two generations. What is asked for again moves into the younger one; when
    that is full the elder goes. So a text is forgotten only after as much as `MOST` of others, and
    a few long texts take no more memory than many short ones.
    """

    def __init__(self, read: Callable[[str], _T], most: int = MOST) -> None:
        """Puts a memory before a function.

        Args:
            read: Depends on nothing but the text.
            most: Characters in one generation.
        """
        self._read = read
        self._most = most
        self._room = most
        self._young: dict[str, _T] = {}
        self._elder: dict[str, _T] = {}

    def __call__(self, text: str) -> _T:
        """Returns the result for a text."""
        result = self._young.get(text)
        if result is not None:
            return result
        result = self._elder.get(text)
        if result is None:
            result = self._read(text)
        if self._room < 0:
            self._young, self._elder = {}, self._young
            self._room = self._most
        self._room -= len(text)
        self._young[text] = result
        return result

    def forget(self) -> None:
        """Begins anew."""
        self._young, self._elder, self._room = {}, {}, self._most
