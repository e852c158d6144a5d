"""Reads memories from a stream of lines, as a shell hook pipes them in, and remembers each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO, Final, Literal, TypeAlias, cast

from echoless.core.errors import BadRecord, EcholessError, InputError
from echoless.core.json_codec import read_number, read_object, read_provenance, read_tags
from echoless.core.model import Json, JsonObject
from echoless.core.text import is_blank
from echoless.ingest import Guard, Remembered
from echoless.ingest.request import ORIGINS, Details

Format = Literal["auto", "text", "jsonl"]

FORMATS: Final[tuple[Format, ...]] = ("auto", "text", "jsonl")

LONGEST: Final = 4_000_000
"""Bytes of a line: a text of a million characters, the most the guard compares, in UTF-8."""

_CHUNK: Final = 1 << 16
_TEXT: Final = ("text", "content")


@dataclass(frozen=True, slots=True)
class Line:
    """Line that is a memory.

    Attributes:
        line: Its number, from 1.
        text: Of the memory.
        details: What else the line gives, see `Details`.
    """

    line: int
    text: str
    details: Details


@dataclass(frozen=True, slots=True)
class Broken:
    """Line that cannot be read as a memory, or was refused.

    Attributes:
        line: Its number, from 1.
        why: Cause of the error and remedy, in one sentence.
    """

    line: int
    why: str

    def to_json(self) -> dict[str, Json]:
        """Returns the line in the form that `hook` prints."""
        return {"answer": "failed", "error": self.why}


Outcome: TypeAlias = Remembered | Broken


# ------------------------------------------------------------------ reading


def read_entries(stream: BinaryIO, form: Format = "auto") -> Iterator[Line | Broken]:
    """Yields the memories of a stream, line by line; blank lines are passed over.

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
    """Yields lines; of one that is too long, one byte more than is allowed, and not the rest."""
    while data := stream.readline(LONGEST + 1):
        yield data
        while len(data) > LONGEST and not data.endswith(b"\n"):
            more = stream.readline(_CHUNK)
            if not more or more.endswith(b"\n"):
                break


def _entry(number: int, line: str, form: Format) -> Line | Broken:
    # meant as JSON: `{` and then the quote of a key, or nothing
    is_object = line.startswith("{") and line[1:].lstrip()[:1] in {'"', "}"}
    if form == "text" or (form == "auto" and not is_object):
        return Line(number, line, {})
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
        texts = [data[name] for name in _TEXT if name in data]
        if len(texts) != 1 or not isinstance(texts[0], str):
            raise BadRecord('it needs one "text", a text')
        return Line(number, texts[0], _details(data))
    except BadRecord as problem:
        return Broken(number, f"The line cannot be read as a memory: {problem}.")


def _details(data: JsonObject) -> Details:
    given = {name: value for name, value in data.items() if name not in _TEXT}
    unknown = sorted(set(given) - set(_READERS))
    if unknown:
        known = ", ".join((*_TEXT, *_READERS))
        raise BadRecord(f"the key {unknown[0]!r} is unknown (known: {known}); put it into metadata")
    return cast("Details", {name: _READERS[name](value, name) for name, value in given.items()})


_Reader: TypeAlias = Callable[[Json, str], object]


def _checked(is_right: Callable[[Json], bool], what: str) -> _Reader:
    """Returns a reader that takes a value as it is, and refuses a wrong one."""

    def read(value: Json, name: str) -> Json:
        if not is_right(value):
            raise BadRecord(f"{name!r} must be {what}")
        return value

    return read


_READERS: Final[Mapping[str, _Reader]] = {
    **dict.fromkeys(
        ("namespace", "type", "id", "key", "created_at"),
        _checked(lambda value: isinstance(value, str), "a text"),
    ),
    "tags": lambda value, _: read_tags(value),
    "importance": read_number,
    "provenance": lambda value, _: read_provenance(value),
    "metadata": read_object,
    "origin": _checked(lambda value: value in ORIGINS, f"one of {', '.join(ORIGINS)}"),
    "force": _checked(lambda value: isinstance(value, bool), "true or false"),
}
"""Details that a line may give, and what reads and checks each."""


# ------------------------------------------------------------------ taking in


def take_in(
    guard: Guard,
    entries: Iterable[Line | Broken],
    details: Details,
    *,
    batch: str | None = None,
    at_once: int = 1,
) -> Iterator[tuple[int, Outcome]]:
    """Remembers memories through the guard, in their order.

    Args:
        guard: An open guard.
        entries: Result of `read_entries`.
        details: What holds for every line that does not say otherwise.
        batch: A name for this input. What was answered under it is answered again, and counts
            nothing, so that an interrupted run can be repeated.
        at_once: Lines that are written together, see `Guard.remember_many`. The first outcome of a
            group comes when its last line is read.

    Yields:
        Number of the line, and what came of it.

    Raises:
        StoreError: The store is locked, read-only or full; what was yielded before is done.
        EncoderError: No vector could be made; what was yielded before is done.
    """
    waiting = iter(entries)
    while some := list(islice(waiting, at_once)):
        texts = [_text(each, details, batch) for each in some if isinstance(each, Line)]
        answers = guard.remember_many(texts, at_once=at_once)
        for entry in some:
            if isinstance(entry, Broken):
                yield entry.line, entry
                continue
            answer = next(answers)
            if isinstance(answer, EcholessError):  # of this line; the others go on
                yield entry.line, Broken(entry.line, str(answer))
            else:
                yield entry.line, answer


def _text(entry: Line, details: Details, batch: str | None) -> tuple[str, Details]:
    """Returns the text of a line with all its details."""
    own: Details = {**details, **entry.details}
    if batch is not None and "key" not in own:
        own["key"] = f"{batch}:{entry.line}"
    return entry.text, own


def read_texts(stream: BinaryIO) -> list[str]:
    """Returns the texts of a stream, for what was just handed to an agent.

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
    """Returns one sentence on what came of all lines.

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
    counts = [f"{outcomes[name]:,} {word}" for name, word in words.items() if outcomes.get(name)]
    total = sum(outcomes.values())
    return f"{total:,} {'line' if total == 1 else 'lines'}: {', '.join(counts) or 'nothing to do'}."
