"""Lines of a JSON Lines file of which some were moved out, in their old order.

A moved line knows its place among all lines and the line before it. While no one else writes the
file, the places alone give the old order, and a digest of all lines shows that they do. After an
edit a line goes behind the one it stood behind; where that is gone, to its old number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from echoless.core.model import Memory
from echoless.stores import jsonl_record as records
from echoless.stores.hidden_records import HiddenRecord

FACT: Final = "jsonl_lines_with_those_moved"
"""Fact of the ledger: digests of all lines before and after the last write, with a space between.
Hiding changes neither, so a writer that is stopped leaves places that can be trusted."""


def digest(lines: Iterable[str]) -> str:
    """Returns a digest of some lines, 64 hexadecimal digits."""
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def joined(present: Sequence[str], moved: Sequence[HiddenRecord], known: str) -> list[str]:
    """Returns the lines of a file together with the moved lines.

    Args:
        present: Lines of the file, each with its end.
        moved: In the order of their places.
        known: The fact `FACT`.
    """
    whole = list(present)
    for each in moved:
        whole.insert(min(each.place, len(whole)), _line(each))
    return whole if digest(whole) in known.split() else _after_an_edit(present, moved)


def _after_an_edit(present: Sequence[str], moved: Sequence[HiddenRecord]) -> list[str]:
    """Returns all lines, each moved line behind its former neighbour."""
    at: dict[str, list[int]] = {}
    for number, line in enumerate(present):
        at.setdefault(_print(line), []).append(number)
    behind: dict[int, list[str]] = {}
    for before, each in enumerate(moved):
        usual = each.place - before - 1  # of the lines in the file, the one before it
        spots = at.get(each.after, []) if each.after else [-1]
        spot = min(spots, key=lambda n: (abs(n - usual), n), default=min(usual, len(present) - 1))
        behind.setdefault(max(spot, -1), []).append(_line(each))
    whole = list(behind.get(-1, ()))
    if not all(line.endswith("\n") for line in present[:-1]):  # elements of a JSON array
        return [*whole, *(e for n, p in enumerate(present) for e in (p, *behind.get(n, ())))]
    for number, line in enumerate(present):
        whole += [line, *behind.get(number, ())]
    return [line if line.endswith("\n") else line + "\n" for line in whole[:-1]] + whole[-1:]


def parted(
    whole: Sequence[str], places: Mapping[int, str], memory: Callable[[str], Memory]
) -> Iterator[HiddenRecord]:
    """Yields the moved lines as records of the ledger.

    Args:
        whole: All lines.
        places: Id of each moved memory by the place of its line.
        memory: Returns the memory with an id, with its line in `native`.
    """
    before = ""
    for place, line in enumerate(whole):
        if place in places:
            yield HiddenRecord(memory(places[place]), place, before)
        else:
            before = _print(line)


def shown(whole: Sequence[str], hidden: Collection[int]) -> list[str]:
    """Returns all lines but those at some places."""
    return [line for place, line in enumerate(whole) if place not in hidden]


def _line(record: HiddenRecord) -> str:
    """Returns the raw line of a moved memory."""
    return records.native_line(record.memory) or records.written(record.memory) + "\n"


def _print(line: str) -> str:
    """Returns a digest of a line without its end."""
    return digest([line.rstrip("\r\n")])
