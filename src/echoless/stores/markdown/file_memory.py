"""Conversion of a topic file of Claude Code's memory to a memory, and back; lines of its index.

The text that is compared is the body: that is the memory itself. The description is a hook by which
an agent decides whether to read the file, and the name is a handle; both say the same fact in other
words, and to compare them would keep copies of one body apart. A file without a body is compared by
its description.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final
from unicodedata import normalize
from urllib.parse import unquote

from echoless.core.document import names
from echoless.core.errors import StoreError
from echoless.core.model import FILE, FIRST_LINE, Json, Memory
from echoless.core.text import count
from echoless.stores.markdown import front_matter
from echoless.stores.markdown.document import front_blocks, front_lines, split_lines
from echoless.stores.markdown.front_matter import FrontMatter
from echoless.stores.markdown.presets import ARCHIVES, INDEX, SUFFIXES
from echoless.stores.markdown.unit_memory import promised

INDEX_LINES: Final = 200
INDEX_BYTES: Final = 25_000
"""What Claude Code loads of the index (code.claude.com/docs/en/memory)."""

_TIMES: Final = ("created_at", "created", "date")
_LINK: Final = re.compile(r"\]\(<?(?:\./)?([^()<>#\n]+?\.md)>?(?:#[^()\n]*)?\)")
_WIKI: Final = re.compile(r"\[\[([^\[\]|#^\n]{1,200})[^\[\]\n]{0,200}\]\]")
_ELSEWHERE: Final = re.compile(r"\.\./|/|~|\w+://")
_CODE: Final = re.compile(r"`([^`\n]+)`")
_NAME: Final = re.compile(r"^name:[ \t]*[\"']?([^\r\n\"']+)", re.MULTILINE)
_HEAD: Final = 2_000
"""Characters in which the name of a note stands."""
_MADE: Final = re.compile(r"m-[0-9a-f]{16}")
"""An id that the guard makes up."""
_TITLE: Final = 6
"""Words of a text that become the title and the file name of its note."""
_LONGEST: Final = 60
_COPIES: Final = 100
_BRACKETS: Final = str.maketrans("[]", "()")
_APART: Final = str.maketrans(dict.fromkeys("`*()[]<>|,;:\"'#", " "))
_UNSAFE: Final = re.compile(r"[^\w.-]+", re.UNICODE)


@dataclass(frozen=True, slots=True)
class IndexLine:
    """A line of the index that leads to a memory file.

    Attributes:
        at: Index of the line.
        path: Of the file, as the link names it.
        title: Text of the link.
    """

    at: int
    path: str
    title: str


def memory(path: str, text: str) -> tuple[Memory, str]:
    """Returns the memory of a file.

    Args:
        path: Of the file, its id.
        text: Of the file.

    Returns:
        The memory, and why its front matter cannot be read; empty where it can.
    """
    lines = split_lines(text)
    front = front_lines(lines)
    fields = front_matter.of_lines(lines)
    values = dict(fields.values)
    body = "".join(lines[front:]).removeprefix("\ufeff").replace("\r\n", "\n").strip()
    type_ = values.pop("type", None)
    nested = values.get("metadata")
    if type_ is None and isinstance(nested, Mapping) and isinstance(nested.get("type"), str):
        type_ = nested["type"]
    tags = values.get("tags")
    if isinstance(tags, list) and all(isinstance(tag, str) for tag in tags):
        del values["tags"]
    else:
        tags = []
    plain = text.replace("\r\n", "\n")  # a body has the ends of its lines in one form
    times = [key for key in _TIMES if isinstance(values.get(key), str)]
    time = str(values.pop(times[0])) if times else None
    return (
        Memory(
            id=path,
            content=body or str(values.get("description") or ""),
            type="" if type_ is None else str(type_),
            tags=tuple(str(tag) for tag in tags),
            created_at=time,
            metadata=values,
            native={
                "raw": text,
                FIRST_LINE: 1 + plain.count("\n", 0, max(0, plain.find(body))),
                FILE: path,
            },
            promise=promised(front_matter.promise_of(fields.values), body),
        ),
        fields.problem,
    )


def changed(text: str, old: Memory, new: Memory) -> str:
    """Returns the text of a file with what differs between two states of its memory.

    Args:
        text: Of the file.
        old: The memory in the file.
        new: The memory to write.

    Raises:
        StoreError: Its front matter cannot be changed.
    """
    lines = split_lines(text)
    fields = front_matter.of_lines(lines)
    changes = _changes(fields, old, new)
    if changes:
        first = front_blocks(lines)[0][1]
        if not first:
            bom = "\ufeff" if lines and lines[0].startswith("\ufeff") else ""
            lines = [bom + "---\n", "---\n", "\n", *split_lines(text.removeprefix(bom))]
            first = 2
        inner = front_matter.changed(lines[1 : first - 1], fields, changes)
        lines = split_lines("".join([lines[0], *inner, *lines[first - 1 :]]))
    front = front_lines(lines)
    if new.content != old.content:
        end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
        rest = "".join(lines[front:])
        above = rest[: len(rest) - len(rest.lstrip())] or (end if front else "")
        below = rest[len(rest.rstrip()) :] or end
        body = above + new.content.replace("\n", end) + below
        return "".join(lines[:front]) + body
    return "".join(lines)


def _changes(fields: FrontMatter, old: Memory, new: Memory) -> dict[str, Json]:
    """Returns the fields of the front matter to set."""
    gone = [key for key in old.metadata if key not in new.metadata]
    if gone:
        raise StoreError(f"The field {gone[0]!r} cannot be taken out of the front matter.")
    changes: dict[str, Json] = {
        key: value
        for key, value in new.metadata.items()
        if key not in old.metadata or old.metadata[key] != value
    }
    if new.type != old.type:
        nested = "metadata.type" in fields.ranges and "type" not in fields.ranges
        changes["metadata.type" if nested else "type"] = new.type
    if new.tags != old.tags:
        changes["tags"] = list(new.tags)
    if new.created_at != old.created_at:
        key = next((key for key in _TIMES if key in fields.ranges), _TIMES[0])
        changes[key] = new.created_at
    return changes


def made(memory_: Memory) -> str:
    """Returns the text of a new file."""
    return changed("", Memory(id=memory_.id, content=""), memory_)


def index_lines(lines: Sequence[str], files: Sequence[str]) -> list[IndexLine]:
    """Returns the lines of an index that lead to files: list items whose first link is to one.

    Args:
        lines: Of the index.
        files: Memory files there are; a link finds one whose name is composed in another way.
    """
    by_name = {normalize("NFC", each): each for each in files} | {each: each for each in files}
    listed = []
    for at, line in enumerate(lines):
        link = _LINK.search(line) if line.lstrip().startswith(("-", "*", "+")) else None
        if link is not None and "://" not in link.group(1):
            title = line[: link.start()].rpartition("[")[2]
            path = unquote(link.group(1))
            path = by_name.get(path) or by_name.get(normalize("NFC", path), path)
            listed.append(IndexLine(at, path, title))
    return listed


def naming(lines: Sequence[str], files: Sequence[str]) -> dict[int, set[str]]:
    """Returns the files that a line names by path, by file name or by `[[name]]`, by its index."""
    known = {normalize("NFC", n): each for each in files for n in (PurePosixPath(each).name, each)}
    stems = {_folded(PurePosixPath(each).stem): each for each in files}
    named = {}
    for at, line in enumerate(lines):
        words = normalize("NFC", line).translate(_APART).split()
        some = {known.get(word.removeprefix("./").rstrip(".")) for word in words}
        some |= {stems.get(_folded(name)) for name in _WIKI.findall(line)}
        if paths := {each for each in some if each}:
            named[at] = paths
    return named


def linked(texts: Mapping[str, str], hidden: Mapping[str, str]) -> dict[str, list[str]]:
    """Returns which other notes link to a note, by its path, its file name or its field `name`.

    Args:
        texts: Of the notes, by path.
        hidden: Of notes that lie in the archive, by the path they had. Their links do not count.
    """
    known: dict[str, str] = {}
    for path, text in (*texts.items(), *hidden.items()):
        named = _NAME.search(text[:_HEAD])
        names = (path, path.rpartition(".")[0], PurePosixPath(path).stem, named and named[1])
        for each in filter(None, names):
            known.setdefault(_folded(each), path)
    links: dict[str, list[str]] = {}
    for path, text in texts.items():
        folder = PurePosixPath(path).parent
        relative = (posixpath.normpath(folder / unquote(to)) for to in _LINK.findall(text))
        targets = {_folded(each) for each in (*relative, *_WIKI.findall(text))} & known.keys()
        for target in {known[each] for each in targets} - {path}:
            links.setdefault(target, []).append(path)
    return links


def _folded(name: str) -> str:
    return normalize("NFC", name.strip()).casefold()


def index_line(memory_: Memory) -> str:
    """Returns the line of the index for a new memory; its title is its name or its first words."""
    first = " ".join(memory_.content.partition("\n")[0].split())
    words = first.translate(_BRACKETS).split()
    title = " ".join(str(memory_.metadata.get("name") or " ".join(words[:_TITLE])).split())
    hook = " ".join(str(memory_.metadata.get("description") or first).split())[:120]
    target = memory_.id if " " not in memory_.id else f"<{memory_.id}>"
    return f"- [{title}]({target})" + (f" \u2014 {hook}" if hook != title else "")


def free_path(memory_: Memory, taken: Callable[[str], bool]) -> str:
    """Returns a path for a new memory that has only a random id: `project_we_use_node_24.md`.

    It is made like the names that Claude Code gives: the type, then what the note is about. The
    path of a memory that somebody named stays as it is.

    Args:
        memory_: Not yet written.
        taken: Returns whether a path is that of another note, visible, hidden or removed.
    """
    if not _MADE.fullmatch(memory_.id):
        return memory_.id
    first = memory_.content.partition("\n")[0]
    words = re.findall(r"\w+", f"{memory_.type or 'project'} {first}".casefold())
    stem = "_".join(words[: _TITLE + 1])[:_LONGEST].strip("_")
    names = (f"{stem}{number}.md" for number in ("", *(f"_{n}" for n in range(2, _COPIES))))
    return next((name for name in names if not taken(name)), memory_.id)


def path_of(id_: str) -> str:
    """Returns the path of the file for a new memory.

    Raises:
        StoreError: An id with this form leads out of the folder, or to the index.
    """
    path = PurePosixPath(id_)
    parts = path.parts
    bad = not id_ or path.is_absolute() or ".." in parts or str(path) != id_
    if bad or parts[0] in ARCHIVES or id_ == INDEX or path.suffix not in SUFFIXES:
        raise StoreError(
            f"{id_!r} is no id for a memory file: an id is the path of a new file in the folder, "
            "such as topic.md. Nothing was written."
        )
    return id_


def shaped(memory_: Memory) -> Memory:
    """Returns a new memory as a file would give it back; its id becomes the name of the file."""
    id_ = memory_.id
    if PurePosixPath(id_).suffix not in SUFFIXES:
        id_ = (_UNSAFE.sub("-", id_).strip("-.") or "memory") + ".md"
    return Memory(
        id=path_of(id_),
        content=memory_.content.strip(),
        type=memory_.type,
        tags=memory_.tags,
        created_at=memory_.created_at,
        metadata=memory_.metadata,
        native=memory_.native,
    )


def unloaded(text: str, files: Sequence[str]) -> list[tuple[str, int]]:
    """Returns what Claude Code does not load, and how many memories each sentence is about.

    Args:
        text: Of the index.
        files: Memory files there are.
    """
    lines, said = split_lines(text), []
    named = _named(lines, files)
    if not _fits(text):
        cut = text.encode("utf-8")[:INDEX_BYTES].decode("utf-8", errors="ignore")
        lost = len((named - _named(split_lines(cut)[:INDEX_LINES], files)).intersection(files))
        behind = f", with {count(lost, 'file')}" if lost else ""
        said.append((f"{_fullness(text)}; what follows is not loaded{behind}.", lost))
    # a readme tells persons of the folder
    if unlisted := sorted(f for f in {*files} - named if PurePosixPath(f).stem.lower() != "readme"):
        sentence = f"{INDEX} does not name {count(len(unlisted), 'file')}: {names(unlisted)}."
        said.append((sentence, len(unlisted)))
    if missing := _missing(lines, files):
        said.append((f"{INDEX} names {count(len(missing), 'missing file')}: {names(missing)}.", 0))
    return said


def _named(lines: Sequence[str], files: Sequence[str]) -> set[str]:
    """Returns the files that lines of an index name, also by their name alone as code."""
    stems = {_folded(PurePosixPath(each).stem): each for each in files}
    coded = {stems.get(_folded(name), "") for line in lines for name in _CODE.findall(line)}
    return coded.union(*naming(lines, files).values()) - {""}


def _missing(lines: Sequence[str], files: Sequence[str]) -> list[str]:
    """Returns what an index links to within its folder that is not there."""
    present = {normalize("NFC", each) for each in (*files, INDEX)}
    links = (normalize("NFC", unquote(path)) for line in lines for path in _LINK.findall(line))
    return sorted({path for path in links if not _ELSEWHERE.match(path)} - present)


def index_remarks(text: str, files: Sequence[str]) -> list[str]:
    """Returns how full an index is where all is loaded, and what else is wrong with it.

    Args:
        text: Of the index.
        files: Memory files there are.
    """
    listed = index_lines(split_lines(text), files)
    said = [f"{_fullness(text)} that Claude Code loads."] if _fits(text) else []
    titles = [each.title for each in listed]
    twice = sorted({title for title in titles if title and titles.count(title) > 1})
    if twice:
        said.append(f"{INDEX} has {count(len(twice), 'title')} more than once: {names(twice)}.")
    return said


def _fits(text: str) -> bool:
    return len(split_lines(text)) <= INDEX_LINES and len(text.encode("utf-8")) <= INDEX_BYTES


def _fullness(text: str) -> str:
    size = f"{len(text.encode('utf-8')) / 1000:.1f} of {INDEX_BYTES // 1000} KB"
    return f"{INDEX} has {len(split_lines(text))} of {INDEX_LINES} lines, {size}"
