"""Reads answers about pairs of memories from a JSON Lines file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from echoless.core.errors import BadRecord, InputError
from echoless.core.model import Memory

EXPECTED: Final = '{"a": "m-1", "b": "m-2", "same": true}'
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Label:
    """An answer about one pair, given beforehand.

    Attributes:
        a: Id of one memory.
        b: Id of the other.
        same: Whether they state the same.
        where: Line and file, for messages.
    """

    a: str
    b: str
    same: bool
    where: str = ""


def read_labels(lines: Iterable[bytes], source: str) -> list[Label]:
    """Reads answers from JSON Lines; empty lines are passed over.

    Args:
        lines: Raw lines, UTF-8.
        source: Name of the file in messages.

    Raises:
        BadRecord: A line holds no answer; the message names it.
    """
    answers = []
    for number, line in enumerate(lines, 1):
        raw = line.removeprefix(_BOM) if number == 1 else line
        if raw.strip():
            answers.append(_answer(raw, f"line {number} of {source}"))
    return answers


def _answer(line: bytes, where: str) -> Label:
    """Reads the answer of one line."""
    try:
        data = json.loads(line.decode("utf-8"))
        a, b, same = data["a"], data["b"], data["same"]
    except (ValueError, KeyError, TypeError, RecursionError) as problem:
        raise _bad(where, f"{type(problem).__name__}: {problem}") from problem
    if not isinstance(a, str) or not isinstance(b, str) or not isinstance(same, bool):
        raise _bad(where, 'an id is no text, or "same" is neither true nor false')
    if a == b:
        raise _bad(where, f"it names {a!r} twice")
    return Label(a, b, same, where)


def _bad(where: str, why: str) -> BadRecord:
    """Returns the error for a line that holds no answer."""
    return BadRecord(f"{where.capitalize()} is no answer ({why}). Expected {EXPECTED}.")


def labelled_pairs(
    labels: Sequence[Label], memories: Mapping[str, Memory]
) -> list[tuple[Memory, Memory, bool]]:
    """Returns the memories of each answer, smaller id first; the last answer about a pair counts.

    Raises:
        InputError: A memory is not there.
    """
    pairs: dict[tuple[str, str], tuple[Memory, Memory, bool]] = {}
    for each in labels:
        for id_ in (each.a, each.b):
            if id_ not in memories:
                place = f" ({each.where})" if each.where else ""
                raise InputError(
                    f"An answer names the memory {id_!r}{place}, which is not there. Remove the "
                    "answer, or name the store and namespace it is about."
                )
        a, b = sorted((each.a, each.b))
        pairs[a, b] = (memories[a], memories[b], each.same)
    return list(pairs.values())
