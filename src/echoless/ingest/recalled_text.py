"""Texts that came out of memory itself: what was just handed to the agent, and its boot files.

An agent that is given a memory says it again, and what listens to it stores it again. Such a text
is not news, and it is no confirmation either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from echoless.core.errors import InputError, StoreError
from echoless.core.model import Memory
from echoless.core.text import is_blank, normalise, unreadable
from echoless.stores.files import read_bytes, text_of

KEPT: Final = 1_000
"""Texts handed to the agent that are remembered; older ones are forgotten first."""

LARGEST: Final = 1_000_000
"""Bytes of a file that are read. What agents read at their start has some thousand."""

_SHORTEST: Final = 12
"""Characters below which a line of a boot file is a heading or a mark, not a statement."""


class RecalledTexts:
    """Texts that were handed to the agent lately, by their normal form."""

    def __init__(self) -> None:
        self._forms: dict[str, None] = {}  # the latest last

    def note(self, given: Iterable[Memory | str]) -> None:
        """Notes texts that the agent was just given, as a whole and line by line."""
        for each in given:
            text = each if isinstance(each, str) else each.content
            for piece in (text, *text.splitlines()):
                if form := normalise(piece, fold_case=True):
                    self._forms.pop(form, None)
                    self._forms[form] = None
        for form in list(self._forms)[: max(0, len(self._forms) - KEPT)]:
            del self._forms[form]

    def holds(self, text: str) -> bool:
        """Returns whether a text, in its normal form, was among them."""
        return normalise(text, fold_case=True) in self._forms


def read_boot_files(paths: Sequence[str | Path]) -> list[Memory]:
    """Reads the statements of files an agent reads at its start, one for each line.

    Args:
        paths: Text files in UTF-8, such as an agent's standing instructions.

    Returns:
        Memories whose id is `PATH:LINE`; headings, rules and lines too short to say anything are
        left out.

    Raises:
        InputError: A file is not there, is no text, or is too large.
    """
    return [line for path in paths for line in _lines(Path(path))]


def read_text_file(path: Path) -> str:
    """Returns the text of a file that an agent was given, and never waits for a pipe.

    Raises:
        InputError: It is not there, is no text, or is too large.
    """
    try:
        data = read_bytes(path, limit=LARGEST + 1)
    except StoreError as problem:
        raise InputError(f"A file cannot be read. {problem}") from problem
    if len(data) > LARGEST:
        raise InputError(
            f"{path} has more than {LARGEST:,} bytes, which is the most that is read. Name the "
            "file the agent really reads."
        )
    return text_of(data, path)


def _lines(path: Path) -> Iterator[Memory]:
    """Yields the statements of one file."""
    for number, line in enumerate(read_text_file(path).splitlines(), 1):
        stripped = line.strip()
        if len(stripped) < _SHORTEST or stripped.startswith(("#", "---", "===", "```", "|--")):
            continue
        if not is_blank(stripped) and unreadable(stripped) is None:
            yield Memory(id=f"{path}:{number}", content=stripped)
