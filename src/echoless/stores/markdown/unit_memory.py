"""Conversion of a bullet or block to a memory, and back.

Bullets of basic-memory and Obsidian: `- [category] text #tag (context)`, `- kind [[Target]]`.

Form: docs/NOTE-FORMAT.md of basic-memory. A context stays in the text that is compared: it says
where the rest holds. Relations are no memories and are never touched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from echoless.core.model import IN_FORCE, STEP, UNDER, Memory, Promise
from echoless.core.text import retired
from echoless.stores.markdown.document import (
    OPAQUE,
    Kind,
    MarkdownUnit,
    content_of,
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


def restated(line: str, old: str, new: str) -> str | None:
    """Returns a line with another statement, category and tags untouched; None if it does not fit.

    Args:
        line: Of the file, without its end.
        old: The present statement.
        new: The statement to write.
    """
    return line.replace(old, new, 1) if line.count(old) == 1 and "\n" not in new else None


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

    @property
    def is_of_files(self) -> bool:
        """Returns whether a memory is a file; in one file it is a bullet or block."""
        return self.preset.grain == "file" and not self.single

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
        """Returns the headings in an address, or in a namespace of an earlier version."""
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
        content = content_of(kind, _lines(raw))
        observed = self.preset.observations and kind == "bullet"
        return Memory(
            id=id_,
            content=statement(content) if observed else content,
            namespace=namespace,
            type=category_of(content) if observed else kind if kind in OPAQUE else "",
            tags=tags_of(content) if observed else (),
            created_at=None if self.preset.by_file or self.single else date_of(path),
            native={"raw": raw, UNDER: [*above, *([STEP] if kind == "number" else [])]},
            promise=promised(promise, content),
        )

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
            bare = lines[0].rstrip("\r\n")
            lines[0] = with_tags(bare, added) + lines[0][len(bare) :]
        return lines

    def _restated(self, lines: list[str], kind: Kind, old: Memory, new: Memory) -> list[str]:
        bare = lines[0].rstrip("\r\n")
        end = lines[0][len(bare) :] or "\n"
        if len(lines) == 1 and self.preset.observations:
            whole = restated(bare, old.content, new.content)
            if whole is not None:
                return [whole + lines[0][len(bare) :]]
        mark = mark_of(bare) if kind in {"bullet", "number"} else ""
        made = written(new.content, mark, end)
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


def promised(file: Promise, content: str) -> Promise:
    """Returns how long, and for whom, a text of a file is in force, its own marks read."""
    why = retired(content)
    return replace(file, retired=why) if why else file


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
