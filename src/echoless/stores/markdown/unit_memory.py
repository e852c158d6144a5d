"""Conversion of a bullet or block to a memory, and back.

Bullets of basic-memory and Obsidian: `- [category] text #tag (context)`, `- kind [[Target]]`.

Form: docs/NOTE-FORMAT.md of basic-memory. A context stays in the text that is compared: it says
where the rest holds. Relations are no memories and are never touched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from echoless.core.model import EMPTY, FILE, IN_FORCE, STEP, UNDER, Json, Memory, Promise
from echoless.core.text import retired
from echoless.core.timestamps import instant
from echoless.stores import expiration
from echoless.stores.markdown import front_matter
from echoless.stores.markdown.document import (
    DATED,
    OPAQUE,
    Kind,
    MarkdownUnit,
    content_of,
    front_lines,
    is_blank,
    is_day,
    mark_of,
    split_lines,
)
from echoless.stores.markdown.presets import Preset, ScopeBy, date_of, is_markdown

_CATEGORY: Final = re.compile(r"\[([^\[\]()\n]{2,40})\](?!\()\s+")
"""One sign in the brackets is the state of a task."""
_TAG: Final = re.compile(r"(?:(?<=\s)|^)#([\w/-]*[^\W\d][\w/-]*)")
_WORD: Final = re.compile(r"\S+")
_CONTEXT: Final = re.compile(r"(?<!\s)\s+\([^()\n]*\)\s*$")
_RELATION: Final = re.compile(r"[\w -]{0,40}\s*\[\[[^\]\n]+\]\](?:\s*\([^()\n]*\))?")


def is_relation(content: str) -> bool:
    """Returns whether a bullet is a relation to another note."""
    return _RELATION.fullmatch(content.strip()) is not None


def category_of(content: str) -> str:
    """Returns the category of an observation; empty where it has none."""
    matched = _CATEGORY.match(content)
    return matched.group(1) if matched else ""


def tags_of(content: str) -> tuple[str, ...]:
    """Returns the tags in a text, each once, in order."""
    return tuple(dict.fromkeys(_TAG.findall(content)))


def is_tag(text: str) -> bool:
    """Returns whether a text can be written as a tag."""
    return _TAG.fullmatch(f"#{text}") is not None


def statement(content: str) -> str:
    """Returns the statement of an observation, without its category and final tags."""
    matched = _CATEGORY.match(content)
    text = content[matched.end() :] if matched else content
    first, newline, rest = text.partition("\n")
    context = _CONTEXT.search(first)
    head = first[: context.start()] if context else first
    ends = (w.end() for w in _WORD.finditer(head) if not (w.start() and _TAG.fullmatch(w[0])))
    said = head[: max(ends, default=0)] + (context[0] if context else "")
    return said.strip() + newline + rest


def with_tags(line: str, new: Sequence[str]) -> str:
    """Returns a line with more tags, inserted before a context at its end."""
    context = _CONTEXT.search(line)
    at = context.start() if context else len(line.rstrip())
    return line[:at] + "".join(f" #{tag}" for tag in new) + line[at:]


_PROPERTY: Final = re.compile(r"\s*([\w.-]+)::(?:\s+(.*))?")
_PAIR: Final = re.compile(
    r"\s*([A-Za-z_][\w.-]*)\s*(?:=|::?)\s*(\"[^\"]*\"|[^\s,;=]+(?: \d\d:\d\d\S*)?)\s*"
    r"(?:[,;]|(?<=\s)|\Z)"
)
_BARE_ID: Final = re.compile(r"\s*(?=\S*\d)[\w:.-]+\s*")
_NOTED: Final = re.compile(
    r"id|uuid|collapsed|heading|icon|background-?color|(?:logseq|ls|hl|card)[.-].*"
)
"""Properties that programs write for themselves (Logseq, its cards and highlights)."""
_TIMES: Final = {
    "created_at": ("created", "createdat", "added", "addedat", "date", "timestamp", "noted"),
    "updated_at": ("updated", "updatedat", "modified", "modifiedat", "edited"),
    "last_accessed": ("last", "lastused", "lastaccessed", "lastseen", "lastrecalled"),
}
_TIME_OF: Final = {key: name for name, keys in _TIMES.items() for key in keys}


@dataclass(frozen=True, slots=True)
class Body:
    """The text of a unit, and what its program notes before, within and behind it.

    The unit is `front`, the first line of the text, `middle`, its other lines, and `end`.

    Attributes:
        text: The text alone.
        front: Lines of metadata above it, each with its end; or a day before its first line.
        middle: Lines of properties below its first line, each behind a line end.
        end: Comments of fields and lines of properties behind it.
        fields: What all of these say.
    """

    text: str
    front: str = ""
    middle: str = ""
    end: str = ""
    fields: Mapping[str, Json] = field(default_factory=dict)

    @property
    def times(self) -> dict[str, str]:
        """Returns the times among the fields, by the field of a memory."""
        times = {_TIME_OF.get(_plain(key), ""): str(each) for key, each in self.fields.items()}
        return {name: each for name, each in times.items() if name and instant(each) is not None}


def body_of(content: str) -> Body:
    """Returns the text of a unit without a program's own notes; all of it where nothing is left.

    Read are the day before a line (`DATED`), metadata between `---` above it, comments of fields at
    its end, such as `<!-- created=DATE -->`, and properties that a program wrote, such as `id:: X`.
    Other comments and properties are text.
    """
    if "<!--" not in content and "::" not in content and not content.startswith(("---", "[")):
        return Body(content)
    if dated := DATED.match(content):
        return Body(content[dated.end() :], dated[0], fields={"created": dated[1]})
    fields: dict[str, Json] = {}
    lines = [f"{line}\n" for line in content.split("\n")]
    above = front_lines(lines) if content.startswith("---") else 0
    front, rest = "".join(lines[:above]), "".join(lines[above:])[:-1]
    fields |= front_matter.of_lines(lines[:above]).values if above else {}
    text = rest
    while (cut := _without_last(text, fields)) is not None:
        text = cut
    first, *others = text.split("\n")
    within = 0
    while within < len(others) and _property(others[within], fields):
        within += 1
    middle = "".join(f"\n{line}" for line in others[:within])
    bare = "\n".join((first, *others[within:]))
    if not bare.strip() or not fields:
        return Body(content)
    return Body(bare, front, middle, rest[len(text) :], fields)


def _without_last(text: str, fields: dict[str, Json]) -> str | None:
    """Returns a text without the note at its end, which is added to fields; None without one."""
    if text.rstrip().endswith("-->") and (start := text.rfind("<!--")) > 0:
        noted = _comment(text.rstrip()[start + 4 : -3])
        fields |= noted or {}
        return text[:start].rstrip() if noted else None
    above, _, last = text.rpartition("\n")
    return above if above and _property(last, fields) else None


def _comment(inner: str) -> dict[str, Json] | None:
    """Returns the fields that are all that a comment holds; None for other words."""
    with suppress(ValueError, RecursionError):
        value = json.loads(inner)
        return value if isinstance(value, dict) and value else None
    if _BARE_ID.fullmatch(inner):
        return {"id": inner.strip()}
    fields: dict[str, Json] = {}
    at = 0
    while match := _PAIR.match(inner, at):
        fields[match[1]] = match[2].strip('"')
        at = match.end()
    return fields if fields and not inner[at:].strip() else None


def _property(line: str, fields: dict[str, Json]) -> bool:
    """Returns whether a line is a property that a program wrote, which is added to fields."""
    match = _PROPERTY.fullmatch(line)
    if match is None:
        return False
    key, value = match[1], (match[2] or "").strip().removeprefix("[[").removesuffix("]]")
    own = _NOTED.fullmatch(key.lower()) or _plain(key) in _TIME_OF
    if not own and not expiration.ends(key, value):
        return False
    fields[key] = value
    return True


def _plain(key: str) -> str:
    """Returns a key without case and joints."""
    return key.replace("-", "").replace("_", "").lower()


_TO: Final = "to"
"""Key of `Memory.native` of a new memory: the file and the headings it is added under."""

SEPARATOR: Final = " > "
"""Between the parts of a namespace: the file, then its headings."""


@dataclass(frozen=True, slots=True)
class UnitReading:
    """How the units of a store are read.

    Attributes:
        preset: Of the store.
        scope: What separates memories that are never compared.
        single: Whether the store is one file.
        new_file: Where a new bullet goes that names no file.
    """

    preset: Preset
    scope: ScopeBy
    single: bool
    new_file: str

    def namespace(self, path: str, headings: Sequence[str]) -> str:
        """Returns the scope of a unit: its file and headings, as the store is told to separate.

        A heading with a date says when, not what: it does not separate daily notes.
        """
        by_file = not self.single and (self.preset.by_file or self.scope == "file")
        parts = [path] if by_file and self.scope != "folder" else []
        parts += self._topics(headings) if self.scope == "heading" else []
        return SEPARATOR.join(parts)

    def address(self, path: str, headings: Sequence[str]) -> str:
        """Returns where a unit stands, whatever separates memories: its file and headings."""
        return SEPARATOR.join([*(() if self.single else (path,)), *headings])

    def headings(self, path: str, address: str) -> tuple[str, ...]:
        """Returns the headings in an address, or in a namespace."""
        parts = tuple(part for part in address.split(SEPARATOR) if part)
        return parts[1:] if parts[:1] == (path,) and not self.single else parts

    def place(self, namespace: str, created_at: str | None) -> tuple[str, tuple[str, ...]]:
        """Returns the file and the headings for a new memory of a namespace.

        Args:
            namespace: Result of `namespace`.
            created_at: Of the memory: a day of which there are daily notes.
        """
        parts = tuple(part for part in namespace.split(SEPARATOR) if part)
        if not self.preset.by_file and not self.single:
            day = f"memory/{created_at}.md"
            return (day if date_of(day) else self.new_file), parts
        if self.single or self.scope == "folder" or not parts:
            return self.new_file, parts
        return parts[0], parts[1:]

    def shaped(self, memory: Memory) -> Memory:
        """Returns a new memory as a bullet would give it back."""
        day = (memory.created_at or "")[:10]
        daily = not self.preset.by_file and not self.single and date_of(f"{day}.md")
        path, headings = self.place(memory.namespace, day if daily else None)
        if not self.single and self.preset.by_file and not is_markdown(Path(path)):
            path, headings = self.new_file, (path, *headings)
        return Memory(
            id=memory.id,
            content=memory.content.strip(),
            namespace=self.namespace(path, headings),
            tags=memory.tags if self.preset.observations else (),
            created_at=day if daily else None,
            native={**memory.native, _TO: [path, *headings], UNDER: self.above(path, headings)},
        )

    def above(self, path: str, headings: Sequence[str]) -> list[str]:
        """Returns what a unit stands under, for the judge; the file only where it is the scope."""
        return [*([path] if self.scope == "file" else []), *self._topics(headings)]

    def _topics(self, headings: Sequence[str]) -> list[str]:
        """Returns headings without those of daily notes that say when, not what."""
        return [each for each in headings if self.preset.by_file or not is_day(each)]

    def chosen(self, memory: Memory) -> tuple[str, tuple[str, ...]] | None:
        """Returns the file and the headings `shaped` chose for a new memory; None for others."""
        chosen = memory.native.get(_TO)
        if isinstance(chosen, list) and chosen and "raw" not in memory.native:
            return str(chosen[0]), tuple(map(str, chosen[1:]))
        return None

    def memory(
        self,
        id_: str,
        namespace: str,
        path: str,
        kind: Kind,
        raw: str,
        promise: Promise = IN_FORCE,
        above: Sequence[str] = (),
    ) -> Memory:
        """Returns the memory of a unit.

        Args:
            id_: Its id.
            namespace: Its scope.
            path: Of its file.
            kind: Of the unit.
            raw: Its lines.
            promise: Of its file.
            above: What the unit stands under, see `UNDER`.
        """
        body = body_of(content_of(kind, _lines(raw))) if kind not in OPAQUE else None
        content = body.text if body else content_of(kind, _lines(raw))
        day = None if self.preset.by_file or self.single else date_of(path)
        observed = self.preset.observations and kind == "bullet"
        memory = Memory(
            id=id_,
            content=statement(content) if observed else content,
            namespace=namespace,
            type=category_of(content) if observed else kind if kind in OPAQUE else "",
            tags=tags_of(content) if observed else (),
            native={"raw": raw, UNDER: [*above, *([STEP] if kind == "number" else [])], FILE: path},
            created_at=day,
            promise=promised(promise, content, body.fields if body else EMPTY),
        )
        times = body.times if body else {}
        return replace(memory, **times) if times else memory  # type: ignore[arg-type]

    def is_memory(self, unit: MarkdownUnit) -> bool:
        """Returns whether a unit is a memory: relations of notes are not."""
        relation = self.preset.observations and unit.kind == "bullet"
        return not (relation and is_relation(unit.content))

    def changed(self, lines: Sequence[str], kind: Kind, old: Memory, new: Memory) -> list[str]:
        """Returns the lines of a unit with a new text and new tags.

        Args:
            lines: Present lines of the unit.
            kind: Of the unit.
            old: The memory in the present lines.
            new: The memory to write, as far as a unit can hold it.
        """
        lines = list(lines)
        if new.content != old.content:
            lines = self._restated(lines, kind, old, new)
        added = [tag for tag in new.tags if tag not in old.tags and is_tag(tag)]
        if added and self.preset.observations and kind == "bullet":
            end = body_of(content_of(kind, lines)).end if len(lines) == 1 else ""
            bare = lines[0].rstrip("\r\n").removesuffix(end)
            lines[0] = with_tags(bare, added) + lines[0][len(bare) :]
        return lines

    def _restated(self, lines: list[str], kind: Kind, old: Memory, new: Memory) -> list[str]:
        bare = lines[0].rstrip("\r\n")
        end = lines[0][len(bare) :] or "\n"
        # category and tags stay untouched where the statement stands there once
        fits = bare.count(old.content) == 1 and "\n" not in new.content
        if len(lines) == 1 and self.preset.observations and fits:
            return [bare.replace(old.content, new.content) + lines[0][len(bare) :]]
        body = body_of(content_of(kind, lines))
        above, within = body.front.count("\n"), body.middle.count("\n")
        below = len(lines) - body.end.count("\n")
        mark = mark_of(lines[above]) if kind in {"bullet", "number"} else ""
        mark += body.front.rpartition("\n")[2]
        made = written(new.content + body.end.partition("\n")[0], mark, end)
        made[1:1] = lines[above + 1 : above + 1 + within]
        made = [*lines[:above], *made, *lines[below:]]
        if not lines[-1].endswith(("\n", "\r")):
            made[-1] = made[-1].rstrip("\r\n")
        return made

    def new_lines(self, memory: Memory) -> list[str]:
        """Returns the lines of a new bullet, without mark and line ends."""
        first, *rest = memory.content.split("\n")
        if self.preset.observations:
            if memory.type:
                first = f"[{memory.type}] {first}"
            if memory.tags:
                first = with_tags(first, memory.tags)
        return [first, *rest]


def _lines(raw: str) -> list[str]:
    lines = split_lines(raw)
    while lines and is_blank(lines[-1]):
        lines.pop()
    return lines


def written(content: str, mark: str, end: str) -> list[str]:
    """Returns the lines of a text behind the mark of a list, each with its end."""
    first, *rest = content.split("\n")
    indent = " " * len(mark.expandtabs(4))
    return [mark + first + end, *((indent + line if line.strip() else "") + end for line in rest)]


def promised(file: Promise, content: str, fields: Mapping[str, Json] = EMPTY) -> Promise:
    """Returns how long, and for whom, a text of a file is in force, its own marks read.

    Args:
        file: Promise of the file.
        content: The text.
        fields: What its program notes of it.
    """
    own = expiration.promised(Memory(id="-", content=content), fields).promise if fields else file
    why = retired(content) or (own.retired if fields else "")
    until = min(
        filter(None, (file.until, own.until)), key=lambda end: -Promise(end).rank[2], default=None
    )
    return replace(file, retired=why or file.retired, until=until)


def protection(kind: Kind) -> str | None:
    """Returns why a unit of some kind is never hidden, as a half sentence, or None."""
    match kind:
        case "code" | "table" | "html":
            return f"every character of a {kind} block matters"
        case "introduction":
            return "it introduces the list below it"
        case _:
            return None


def united(preset: Preset, old: Memory, new: Memory) -> Memory:
    """Returns a survivor with what a bullet can take over: tags, where bullets have some."""
    if not preset.observations or "\n" in old.content or old.type in OPAQUE:
        return old  # tags are written at the end of the first line
    tags = [*old.tags, *(t for t in new.tags if t not in old.tags and is_tag(t))]
    return replace(old, tags=tuple(tags))
