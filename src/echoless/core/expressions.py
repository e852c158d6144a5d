"""Expressions that are compiled when a text is first compared with them.

A new process that remembers one text loads some 200 expressions and uses a third of them; to
compile the rest would take a tenth of its time.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from re import compile as lazy_pattern

    __all__ = ["lazy_pattern"]
else:

    class _LazyPattern:
        """Stands for a compiled expression; its methods are looked up once."""

        def __init__(self, source: str, flags: int) -> None:
            self._made_of = (source, flags)

        def __getattr__(self, name: str) -> object:
            if name.startswith("__"):  # asked by `copy` and the like, which then do without
                raise AttributeError(name)
            method = getattr(re.compile(*self._made_of), name)
            setattr(self, name, method)
            return method

    def lazy_pattern(source: str, flags: int = 0) -> re.Pattern[str]:
        """Returns a stand-in for a regular expression, which is compiled at the first use.

        Args:
            source: The expression.
            flags: As of `re.compile`.
        """
        return _LazyPattern(source, flags)
