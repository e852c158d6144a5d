"""Damage to bytes, lines, JSON and TOML. All of it follows from the generator that is handed in."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Final, TypeAlias, TypeVar

from benchmarks.fuzz.texts import TEXTS
from echoless.core.model import Json

T = TypeVar("T")
Edit: TypeAlias = Callable[[Random, bytes], bytes]

MAGIC: Final = (
    b"", b"\0", b"\0" * 16, b"\xff", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\0\0\0",
    b"\xc3\x28", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"\xef\xbb\xbf", b"\xff\xfe", b"\r\n",
    b"\n", b"\r", b"\x1b[2J", b"\x1b]8;;http://x\x07", b'"', b"'", b"{", b"}", b"[" * 1100, b"\\",
    b"\\u0000", b"\\ud800", b"-1", b"0", b"1e999", b"NaN", b"null", b"9" * 400, b"9" * 6000,
    b"\xe2\x80\xae", b"\xe2\x80\x8b", b"SQLite format 3\0", b"PK\x03\x04", b"\x93NUMPY\x01\0",
)  # fmt: skip
"""Pieces at which parsers have stumbled."""

_RAW: Final = (
    "NaN", "Infinity", "-Infinity", "1e999", "-0", "1" + "0" * 6000, "1" + "0" * 400,
    "[" * 1_100, "[" * 1_100 + "]" * 1_100, '{"a":' * 1_100 + "1" + "}" * 1_100,
    "[" * 300 + "]" * 300, '"\\ud800"', '"\\udfff\\ud800"', '"\\u0000"', "1.5e308", "1e-400",
    "18446744073709551616", "9223372036854775807", "-9223372036854775809", "0.1", "1.0", "-1",
    "0", "1", "5", "true", "false", "null", "[]", "{}", '""', "[[]]", "[null]", '{"": 1}', "[0, 0]",
    '["m-1"]', '{"id": "m-1"}', '"9999-12-31T23:59:59.999999+14:00"', '"0000-00-00"', '"2026"',
    '"-1"', "[1e999]", '[{"to": 1}]', '"\\u200b"',
)  # fmt: skip
"""JSON as it is written, sound and unsound, to stand where something else was expected."""

_MARK: Final = "\ue000raw%d\ue000"


def some(rng: Random, choices: Sequence[T]) -> T:
    """One of them; small numbers of a long list are no more likely than large ones."""
    return choices[rng.randrange(len(choices))]


def hostile_text(rng: Random) -> str:
    """A text, or two in a row."""
    text = some(rng, TEXTS)
    return text + some(rng, TEXTS) if rng.random() < 0.2 else text


# ------------------------------------------------------------------ bytes


def _span(rng: Random, data: bytes, longest: int = 64) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.randrange(1, longest))


def bytes_once(rng: Random, data: bytes) -> bytes:
    """One damage to bytes: flipped, cut, spliced, doubled, swapped, or with a magic piece in it."""
    start, end = _span(rng, data, some(rng, (4, 64, 4096)))
    other, other_end = _span(rng, data)
    match rng.randrange(9):
        case 0:  # one bit
            flipped = bytes(b ^ (1 << rng.randrange(8)) for b in data[start : start + 1])
            return data[:start] + flipped + data[start + 1 :]
        case 1:  # other bytes of the same number
            return data[:start] + rng.randbytes(end - start) + data[end:]
        case 2:
            return data[:start] + data[end:]
        case 3:
            return data[:start]
        case 4:
            return data[:end] + data[start:]
        case 5:
            return data[:start] + data[other:other_end] + data[start:]
        case 6:
            return data[:start] + some(rng, MAGIC) + data[start:]
        case 7:  # a piece over what was there
            piece = some(rng, MAGIC)
            return data[:start] + piece + data[start + len(piece) :]
        case _:
            return some(rng, (b"", data[:1], data * 2, data[start:], b"\0" * len(data)))


def damaged_bytes(rng: Random, data: bytes) -> bytes:
    """One to five damages."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 5))):
        data = bytes_once(rng, data)
    return data


# ------------------------------------------------------------------ JSON


def _places(value: Json, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    paths = [path]
    if isinstance(value, dict):
        for key, inner in value.items():
            paths += _places(inner, (*path, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            paths += _places(inner, (*path, place))
    return paths


class _Document:
    """A JSON value that is being damaged; unsound JSON is put in where it is written."""

    def __init__(self, value: Json) -> None:
        self.value = value
        self.raw: list[str] = []

    def mark(self, text: str) -> str:
        self.raw.append(text)
        return _MARK % (len(self.raw) - 1)

    def written(self) -> str:
        text = json.dumps(self.value, ensure_ascii=False)
        for number, raw in enumerate(self.raw):
            text = text.replace(json.dumps(_MARK % number, ensure_ascii=False), raw)
        return text

    def damage(self, rng: Random) -> None:
        path = some(rng, _places(self.value))
        if not path:
            if rng.random() < 0.2:
                self.value = self.mark(some(rng, _RAW))
            elif isinstance(self.value, dict):
                self.value[hostile_text(rng)] = hostile_text(rng)
            return
        parent = self.value
        for step in path[:-1]:
            parent = parent[step]  # type: ignore[index]
        self._at(rng, parent, path[-1])

    def _at(self, rng: Random, parent: Json, key: str | int) -> None:
        assert isinstance(parent, dict | list)
        known = some(rng, list(parent.values()) if isinstance(parent, dict) else parent)
        match rng.randrange(8):
            case 0 | 1 | 2:
                new: Json = self.mark(some(rng, _RAW))
            case 3 | 4:
                new = hostile_text(rng)
            case 5:
                new = known
            case 6:
                new = [parent[key], parent[key]]  # type: ignore[index]
            case _:
                if isinstance(parent, dict) and rng.random() < 0.6:
                    inner = parent.pop(key)
                    if rng.random() < 0.5:
                        parent[some(rng, (hostile_text(rng), str(key).upper(), "id"))] = inner
                    return
                new = {str(key): parent[key]}  # type: ignore[index]
        parent[key] = new  # type: ignore[index]


def damaged_json(rng: Random, data: bytes, times: int | None = None) -> bytes:
    """One to four values of a document are others; what is no JSON is damaged as bytes."""
    try:
        document = _Document(json.loads(data))
    except (ValueError, RecursionError):
        return damaged_bytes(rng, data)
    for _ in range(times or rng.choice((1, 1, 2, 4))):
        document.damage(rng)
    text = document.written()
    if rng.random() < 0.05 and text.startswith("{"):  # a key twice
        text = '{"id": "twice", ' + text[1:]
    return text.encode("utf-8", "surrogatepass")


def json_or_bytes(rng: Random, data: bytes) -> bytes:
    """Mostly values, sometimes bytes."""
    return damaged_json(rng, data) if rng.random() < 0.75 else damaged_bytes(rng, data)


# ------------------------------------------------------------------ lines


def lines_of(edit: Edit, *keys: str) -> Edit:
    """Damage to a file of lines.

    Args:
        edit: What is done to one line.
        keys: Of the objects on the lines, those that hold text: hostile ones are put there, in two
            lines at a time, so that they are compared with each other.
    """

    def damaged(rng: Random, data: bytes) -> bytes:
        if rng.random() < 0.2:
            return damaged_bytes(rng, data)
        lines = data.split(b"\n")
        for _ in range(rng.choice((1, 1, 2, 4))):
            _line_once(rng, lines, edit, keys)
        glue = some(rng, (b"\r\n", b"\n\n", b"\r", b"\x0b")) if rng.random() < 0.06 else b"\n"
        return (b"\xef\xbb\xbf" if rng.random() < 0.02 else b"") + glue.join(lines)

    return damaged


def _line_once(rng: Random, lines: list[bytes], edit: Edit, keys: Sequence[str]) -> None:
    if not lines:
        lines.append(b"")
    place = rng.randrange(len(lines))
    match rng.randrange(12):
        case 0:
            lines.insert(place, lines[place])
        case 1:
            del lines[place]
        case 2:
            other = rng.randrange(len(lines))
            lines[place], lines[other] = lines[other], lines[place]
        case 3:
            lines.insert(place, some(rng, (b"", b" ", b"#", b"\0", b"{}", b"[]", b"1")))
        case 4:
            while lines and not lines[-1]:
                lines.pop()
        case 5 | 6 | 7 if keys:
            _hostile_lines(rng, lines, place, some(rng, keys))
        case _:
            lines[place] = edit(rng, lines[place])


def _hostile_lines(rng: Random, lines: list[bytes], place: int, key: str) -> None:
    try:
        data = json.loads(lines[place])
    except (ValueError, RecursionError):
        return
    if not isinstance(data, dict):
        return
    text = hostile_text(rng)
    for number, each in enumerate((text, some(rng, (text, text + ".", text.upper(), text + " 2")))):
        record = {**data, key: each}
        if "id" in data and key != "id":
            record["id"] = f"h-{rng.randrange(10**6)}-{number}"
        lines.insert(place, json.dumps(record).encode())


# ------------------------------------------------------------------ TOML

_TOML: Final = (
    "1" + "0" * 6000, "[" * 1100, "[" * 1100 + "]" * 1100, "nan", "inf", "-1", "0", "1e999",
    "1979-05-27T07:32:00Z", "07:32:00", '""', "[]", "{}", "{a = 1}", "true", '"\\u0000"',
    '"\\u001b[2J"', "'''", '"""', '["lexical=0.5"]', '["=1", "x="]', '"safe"', "0.5", "1", "2",
    "9223372036854775808", '"none"', '"stored"', '"auto"', '"fast"', '"none:x"', '["exact", 1]',
)  # fmt: skip


def damaged_toml(keys: Sequence[str]) -> Edit:
    """Damage to a TOML file: known keys with other values, tables, bytes."""

    def damaged(rng: Random, data: bytes) -> bytes:
        if rng.random() < 0.2:
            return damaged_bytes(rng, data)
        lines = data.decode("utf-8", "replace").split("\n")
        for _ in range(rng.choice((1, 1, 2, 3))):
            key = some(rng, keys) if rng.random() < 0.9 else hostile_text(rng)
            value = some(rng, _TOML)
            if rng.random() < 0.3:
                value = json.dumps(hostile_text(rng), ensure_ascii=rng.random() < 0.3)
            line = f"{key} = {value}"
            if rng.random() < 0.1:
                line = some(rng, (f"[{key}]", f"[[{key}]]", f"{key}.{key} = 1", key, "= 1"))
            lines = [each for each in lines if not each.startswith(f"{key} ")]
            lines.insert(rng.randrange(len(lines) + 1), line)
        return "\n".join(lines).encode("utf-8", "surrogatepass")

    return damaged
