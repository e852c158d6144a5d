"""Memories from a stream of lines, each sent through the guard: what a shell hook pipes in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO, Final, Literal, TypeAlias, cast

from echoless.codec import read_importance, read_object, read_provenance, read_tags
from echoless.errors import BadRecord, InputError, UsageError
from echoless.model import Json, JsonObject
from echoless.remembering import Guard, Remembered
from echoless.remembering.wish import ORIGINS, Details
from echoless.text import is_blank

Format = Literal["auto", "text", "jsonl"]

FORMATS: Final[tuple[Format, ...]] = ("auto", "text", "jsonl")

LONGEST: Final = 4_000_000
"""Bytes of a line: a text of a million characters, the most the guard compares, in UTF-8."""

_CHUNK: Final = 1 << 16
_TEXT: Final = ("text", "content")
_NAMED: Final = ("namespace", "type", "id", "key", "created_at")
_KEYS: Final = (*_TEXT, *_NAMED, "tags", "importance", "provenance", "metadata", "origin", "force")


@dataclass(frozen=True, slots=True)
class Entry:
    """One line that is a memory.

    Attributes:
        line: Its number, from 1.
        text: What it says.
        details: What else it tells, see `Details`.
    """

    line: int
    text: str
    details: Details


@dataclass(frozen=True, slots=True)
class Broken:
    """One line that is none.

    Attributes:
        line: Its number, from 1.
        why: One sentence: what is wrong, and what to do.
    """

    line: int
    why: str

    def to_json(self) -> dict[str, Json]:
        """As `hook` prints it."""
        return {"answer": "failed", "error": self.why}


Outcome: TypeAlias = Remembered | Broken


# ------------------------------------------------------------------ reading


def read_entries(stream: BinaryIO, form: Format = "auto") -> Iterator[Entry | Broken]:
    """The memories of a stream, line by line; blank lines are passed over.

    Args:
        stream: UTF-8 text; only a line feed ends a line.
        form: `text` takes each line as it is, `jsonl` as a JSON object. `auto` takes what begins
            like a JSON object for one, and everything else as it is.
    """
    for number, data in enumerate(_lines(stream), 1):
        if len(data) > LONGEST:
            yield Broken(number, f"The line has more than {LONGEST:,} bytes. Remember it in parts.")
            continue
        try:
            line = data.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError as problem:
            yield Broken(number, f"The line is not UTF-8 ({problem.reason}). Convert it to UTF-8.")
            continue
        if not is_blank(line):
            yield _entry(number, line, form)


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """Lines; of one that is too long, one byte more than is allowed and the rest passed over."""
    while data := stream.readline(LONGEST + 1):
        yield data
        while len(data) > LONGEST and not data.endswith(b"\n"):
            more = stream.readline(_CHUNK)
            if not more or more.endswith(b"\n"):
                break


def _entry(number: int, line: str, form: Format) -> Entry | Broken:
    if form == "text" or (form == "auto" and not _is_object(line)):
        return Entry(number, line, {})
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as problem:
        return Broken(
            number,
            f"The line is not JSON ({problem}). Mend it, or read all lines as --format text.",
        )
    if not isinstance(data, dict):
        return Broken(number, 'The line is no JSON object. Write {"text": "..."}.')
    try:
        return Entry(number, _text(data), _details(data))
    except BadRecord as problem:
        return Broken(number, f"The line cannot be read as a memory: {problem}.")


def _is_object(line: str) -> bool:
    """Whether a line is meant as JSON: `{` and then the quote of a key, or nothing."""
    return line.startswith("{") and line[1:].lstrip()[:1] in {'"', "}"}


def _text(data: JsonObject) -> str:
    told = [data[name] for name in _TEXT if name in data]
    if len(told) != 1 or not isinstance(told[0], str):
        raise BadRecord('it needs one "text", a text')
    return told[0]


def _details(data: JsonObject) -> Details:
    unknown = sorted(set(data) - set(_KEYS))
    if unknown:
        raise BadRecord(
            f"the key {unknown[0]!r} is unknown (known: {', '.join(_KEYS)}); put it into metadata"
        )
    told: dict[str, object] = {name: _named(data, name) for name in _NAMED if name in data}
    if "tags" in data:
        told["tags"] = read_tags(data["tags"])
    if "importance" in data:
        told["importance"] = read_importance(data["importance"])
    if "provenance" in data:
        told["provenance"] = read_provenance(data["provenance"])
    if "metadata" in data:
        told["metadata"] = read_object(data["metadata"], "metadata")
    if "force" in data:
        told["force"] = _switch(data["force"])
    if "origin" in data:
        told["origin"] = _origin(data["origin"])
    return cast("Details", told)


def _named(data: JsonObject, name: str) -> str:
    value = data[name]
    if not isinstance(value, str):
        raise BadRecord(f"{name!r} must be a text")
    return value


def _switch(value: Json) -> bool:
    if not isinstance(value, bool):
        raise BadRecord("'force' must be true or false")
    return value


def _origin(value: Json) -> str:
    if value not in ORIGINS:
        raise BadRecord(f"'origin' must be one of {', '.join(ORIGINS)}")
    return str(value)


# ------------------------------------------------------------------ taking in


def take_in(
    guard: Guard,
    entries: Iterable[Entry | Broken],
    details: Details,
    *,
    batch: str | None = None,
) -> Iterator[tuple[int, Outcome]]:
    """Send memories through the guard, one by one.

    Args:
        guard: An open guard.
        entries: As `read_entries` gives them.
        details: What holds for every line that does not say otherwise.
        batch: A name for this input. What was answered under it is answered again, and counts
            nothing, so that an interrupted run can be repeated.

    Yields:
        Number of the line, and what came of it.

    Raises:
        StoreError: The store is locked, read-only or full; what was told before is done.
        EncoderError: No vector could be made; what was told before is done.
    """
    for entry in entries:
        if isinstance(entry, Broken):
            yield entry.line, entry
            continue
        told = cast("Details", {**details, **entry.details})
        if batch is not None and "key" not in told:
            told["key"] = f"{batch}:{entry.line}"
        try:
            yield entry.line, guard.remember(entry.text, **told)
        except (InputError, UsageError) as problem:  # of this line; the others go on
            yield entry.line, Broken(entry.line, str(problem))


def read_texts(stream: BinaryIO) -> list[str]:
    """The texts of a stream, for what was just handed to an agent.

    Raises:
        InputError: A line cannot be read; the message names it.
    """
    texts = []
    for entry in read_entries(stream):
        if isinstance(entry, Broken):
            raise InputError(f"Line {entry.line}: {entry.why}")
        texts.append(entry.text)
    return texts


def summary(outcomes: Mapping[str, int]) -> str:
    """One sentence on what came of all lines.

    Args:
        outcomes: Number of lines by `answer` in their JSON.
    """
    words = {
        "admitted": "stored",
        "updates": "stored beside what they update",
        "already_known": "known",
        "needs_review": "held for review",
        "failed": "broken",
    }
    told = [f"{outcomes[name]:,} {word}" for name, word in words.items() if outcomes.get(name)]
    total = sum(outcomes.values())
    return f"{total:,} {'line' if total == 1 else 'lines'}: {', '.join(told) or 'nothing to do'}."
