"""Division of a Markdown text into units: bullets, paragraphs, blocks, each with its lines.

Lines keep their ends and are cut where markdown-it-py cuts them (CR LF, CR, LF), so that its line
maps fit; every edit is a replacement of whole lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    import markdown_it
    from markdown_it.token import Token

Kind = Literal["bullet", "number", "paragraph", "quote", "code", "table", "html", "introduction"]

OPAQUE: Final[frozenset[Kind]] = frozenset({"code", "table", "html", "introduction"})
"""Units that are never hidden: their place, or every character of them, is a part of their sense.
An introduction is a paragraph that ends with a colon before a list or block."""

_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_MARKER: Final = re.compile(r"([ \t]*)([-+*]|\d{1,9}[.)])([ \t]+|$)")
_BLOCKS: Final[dict[str, Kind]] = {
    "paragraph_open": "paragraph",
    "blockquote_open": "quote",
    "fence": "code",
    "code_block": "code",
    "table_open": "table",
    "html_block": "html",
}
_LISTS: Final[dict[str, Kind]] = {"bullet_list_open": "bullet", "ordered_list_open": "number"}
DIVIDER: Final = "\u00a7"
"""Line between the entries of a memory file of Hermes (hermes-agent 0.19, `tools/memory_tool.py`,
`ENTRY_DELIMITER`), which are plain text of any number of lines."""
_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)[a-z]*\.?"
_DAY: Final = re.compile(
    rf"\d{{4}}-\d\d-\d\d|(?:\w+day,? )?"
    rf"(?:{_MONTH} \d{{1,2}}\w*,?|\d{{1,2}}\w*\.? {_MONTH},?) \d{{4}}\b"
)
_DATE: Final = re.compile(r"([*_])([^*_]+)\1\s*")
"""A line in italics that may be the date of what follows: so OpenClaw writes its diary."""
_FENCES: Final = {"---": {"---", "..."}, "+++": {"+++"}, ";;;": {";;;"}}
"""Lines that end a block of metadata, by the line that begins it (gohugo.io, front matter)."""
_FIELD: Final = re.compile(r"(?:[A-Za-z_][\w-]*|\"[^\"]*\"):(?:\s|$)")
_IN_YAML: Final = re.compile(rf"{_FIELD.pattern}|[ \t#]|-\s|[\]}}]")
DATED: Final = re.compile(r"\[(\d{4}-\d\d-\d\d|unknown)\] [-\u2013\u2014] +(?=\S)")
"""Beginning of a line in the list of memories that a chatbot prints to be taken to another one
(claude.com/import-memory), in a fence and under headings."""
_CONFLICT: Final = (re.compile(r"<{7} "), re.compile(r"={7}\s*$"), re.compile(r">{7} "))


@dataclass(frozen=True, slots=True)
class MarkdownUnit:
    """One block, or one bullet with all lines below it.

    Attributes:
        start: Index of its first line.
        end: Index after its last line; blank lines at its end are left out.
        kind: Kind of the block.
        headings: Texts of the headings above it, outermost first.
        content: Its text without the mark of the list and the indentation below it.
        lead: Line in front of its list that introduces it, or the last line in bold above it that
            stands for a heading; empty for none.
    """

    start: int
    end: int
    kind: Kind
    headings: tuple[str, ...]
    content: str
    lead: str = ""


@dataclass(frozen=True, slots=True)
class MarkdownHeading:
    """One heading.

    Attributes:
        start: Index of its first line.
        end: Index after its last line.
        level: 1 to 6.
        path: Texts of the headings above it and its own text.
    """

    start: int
    end: int
    level: int
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A text divided into units.

    Attributes:
        front: Number of lines of the front matter, its fences included.
        units: In the order of the text.
        headings: In the order of the text.
        conflict: Index of the first line of a merge conflict, or None.
        titled: Whether one heading stands above all others.
    """

    front: int
    units: tuple[MarkdownUnit, ...]
    headings: tuple[MarkdownHeading, ...]
    conflict: int | None
    titled: bool = False


def split_lines(text: str) -> list[str]:
    """Returns the lines of a text, each with its end."""
    return _LINE.findall(text)


def is_blank(line: str) -> bool:
    """Returns whether a line holds nothing but white space."""
    return not line.strip()


def front_lines(lines: Sequence[str]) -> int:
    """Returns the number of lines of the front matter, all blocks of it; 0 where there is none."""
    return front_blocks(lines)[-1][1] if lines else 0


def front_blocks(lines: Sequence[str]) -> list[tuple[int, int]]:
    """Returns start and end of each block of metadata at the top; one of no lines for none.

    The first is YAML between `---`, TOML between `+++`, JSON between `;;;`, or a JSON object.
    Blocks of YAML right behind it are metadata too: programs put theirs before one that is there.
    """
    blocks = [(0, _first_block(lines))]
    while (end := blocks[-1][1]) and (next_ := _next_block(lines, end)) is not None:
        blocks.append(next_)
    return blocks


def _first_block(lines: Sequence[str]) -> int:
    """Returns the end of the first block of metadata; 0 where there is none."""
    fence = lines[0].removeprefix("\ufeff").rstrip() if lines else ""
    if fence.startswith("{"):
        return _object_lines("".join(lines).removeprefix("\ufeff"))
    return _end_of_block(lines, 0) if fence in _FENCES else 0


def _end_of_block(lines: Sequence[str], start: int) -> int:
    """Returns the index after the line that ends a block; 0 where none does."""
    ends = _FENCES[lines[start].removeprefix("\ufeff").rstrip()]
    later = range(start + 1, len(lines))
    return next((at for at in later if lines[at].rstrip() in ends), -1) + 1


def _next_block(lines: Sequence[str], start: int) -> tuple[int, int] | None:
    """Returns the block of YAML that is next behind a block; text between two rules is none."""
    while start < len(lines) and is_blank(lines[start]):
        start += 1
    if start == len(lines) or lines[start].rstrip() != "---":
        return None
    end = _end_of_block(lines, start)
    inner = [line for line in lines[start + 1 : end - 1] if not is_blank(line)]
    fields = inner and _FIELD.match(inner[0]) and all(map(_IN_YAML.match, inner))
    return (start, end) if end and fields else None


def _object_lines(text: str) -> int:
    """Returns the number of lines of a JSON object with fields at the beginning of a text, or 0."""
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return 0
    rest = split_lines(text[end:])
    whole = isinstance(value, dict) and value and (not rest or is_blank(rest[0]))
    return len(split_lines(text[:end])) if whole else 0


_BOLD: Final = re.compile(r"(\*\*|__)[^*\n]{1,100}\1:?")
"""A paragraph that stands for a heading."""


def is_day(heading: str) -> bool:
    """Returns whether a heading begins with a day: `2026-04-12`, `April 12, 2026 at 2:00 AM`."""
    return _DAY.match(heading.strip()) is not None


def is_divider(line: str) -> bool:
    """Returns whether a line stands between two entries."""
    return line.rstrip("\r\n") == DIVIDER


def read_entries(lines: Sequence[str]) -> Document:
    """Divides the lines of a text into entries, at the lines between them."""
    dividers = [at for at, line in enumerate(lines) if is_divider(line)]
    units = []
    for start, end in pairwise([-1, *dividers, len(lines)]):
        rows = [at for at in range(start + 1, end) if not is_blank(lines[at])]
        if rows:
            content = content_of("paragraph", lines[rows[0] : rows[-1] + 1])
            units.append(MarkdownUnit(rows[0], rows[-1] + 1, "paragraph", (), content))
    return Document(0, tuple(units), (), _conflict(lines, ()))


@cache
def _parser() -> markdown_it.MarkdownIt:
    """Returns a parser of blocks: CommonMark with tables, without work inside of lines."""
    import markdown_it

    parser = markdown_it.MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def read(lines: Sequence[str], *, dated: bool = False) -> Document:
    """Divides the lines of a text into units.

    Args:
        lines: Of the text.
        dated: Whether a line in italics with a day is a heading.
    """
    front = front_lines(lines)
    body = ["\n"] * front + list(lines[front:])
    if body and not front:
        body[0] = body[0].removeprefix("\ufeff")
    tokens = _parser().parse("".join(body))
    if fences := [each.map for each in tokens if each.map and _is_fence_of_list(each)]:
        for start, end in fences:
            body[start] = "\n"
            body[end - 1] = "\n" if body[end - 1].lstrip()[:3] in {"```", "~~~"} else body[end - 1]
        tokens = _parser().parse("".join(body))
    units: list[MarkdownUnit] = []
    headings: list[MarkdownHeading] = []
    path: list[tuple[int, str]] = []
    bold = lead = ""
    blocks = list(_blocks(tokens))
    for (token, kind), (after, _) in pairwise([*blocks, (None, None)]):
        assert token is not None
        assert token.map is not None
        start, end = token.map
        day = _DATE.fullmatch(body[start]) if dated and end == start + 1 else None
        if kind is None or (day and is_day(day.group(2))):
            level, text = (7, day.group(2)) if day else (int(token.tag[1:]), token.content)
            bold = lead = ""
            path = [each for each in path if each[0] < level] + [(level, text)]
            headings.append(MarkdownHeading(start, end, level, tuple(text for _, text in path)))
            continue
        while end > start and is_blank(body[end - 1]):
            end -= 1
        content = content_of(kind, body[start:end])
        comment = kind == "html" and content.startswith("<!--") and content.endswith("-->")
        if not content.strip() or comment:
            continue
        nothing_listed = after is None or after.type in {"paragraph_open", "heading_open"}
        introduces = content.endswith((":", "\uff1a")) and not nothing_listed
        own: Kind = "introduction" if kind == "paragraph" and introduces else kind
        stands = kind == "paragraph" and _BOLD.fullmatch(content) is not None
        if kind not in {"bullet", "number"}:
            lead = content if introduces else ""
            bold = content if stands else bold
        above = "" if introduces or stands else lead or bold
        under = tuple(text for _, text in path)
        within = range(start + 1, end) if own == "paragraph" else ()
        for at, stop in pairwise([start, *(n for n in within if DATED.match(body[n])), end]):
            units.append(MarkdownUnit(at, stop, own, under, content_of(kind, body[at:stop]), above))
    titled = len({heading.path[0] for heading in headings}) == 1
    return Document(front, tuple(units), tuple(headings), _conflict(body, units), titled)


def _is_fence_of_list(token: Token) -> bool:
    """Returns whether a block of code begins, below headings, with a dated line of a list.

    One that has only headings left of the second level or lower is one too.
    """
    if token.type != "fence" or token.level:
        return False
    lines = [each for each in token.content.splitlines() if each.strip()]
    first = next((each for each in lines if not each.startswith(("#", "**"))), None)
    left = first is None and not any(each.startswith("# ") for each in lines)
    return left or DATED.match(first or "") is not None


def _blocks(tokens: Sequence[Token]) -> Iterator[tuple[Token, Kind | None]]:
    """Yields the blocks of the outermost level with their kind, items of lists one by one.

    A heading has no kind; its token carries the text of the heading.
    """
    items: Kind = "bullet"
    for at, token in enumerate(tokens):
        if token.level == 0 and token.type in _LISTS:
            items = _LISTS[token.type]
        elif token.level == 1 and token.type == "list_item_open":
            yield token, items
        elif token.level == 0 and token.type == "heading_open":
            token.content = " ".join(tokens[at + 1].content.split())
            yield token, None
        elif token.level == 0 and token.type in _BLOCKS:
            yield token, _BLOCKS[token.type]


def content_of(kind: Kind, lines: Sequence[str]) -> str:
    """Returns the text of a unit: without the mark of the list and the indentation below it.

    Args:
        kind: Of the unit.
        lines: Of the unit, without blank lines at its end.
    """
    bare = [line.rstrip("\r\n") for line in lines]
    if kind in {"bullet", "number"} and bare and (mark := _MARKER.match(bare[0])):
        width = len(mark.group().expandtabs(4))
        if len(mark.group(3)) > 4:  # an indented code block inside of the item
            width = len(mark.group(1) + mark.group(2)) + 1
        bare = [bare[0][mark.end() :], *(_dedented(line, width) for line in bare[1:])]
    return "\n".join(bare).strip() if kind != "code" else "\n".join(bare)


def _dedented(line: str, width: int) -> str:
    """Returns a line without up to so many columns of white space at its beginning."""
    blank = line[: len(line) - len(line.lstrip(" \t"))]
    return blank.expandtabs(4)[width:] + line[len(blank) :]


def mark_of(line: str) -> str:
    """Returns the mark of a list at the beginning of a line, with the white space around it."""
    mark = _MARKER.match(line.rstrip("\r\n"))
    return mark.group() if mark else ""


def mark_like(line: str) -> str:
    """Returns the mark of a bullet with its space of one to four columns, else with one space."""
    mark = mark_of(line)
    bare = mark.rstrip(" \t")
    return mark if 0 < len(mark[len(bare) :].expandtabs(4)) <= 4 else bare + " "


def _conflict(lines: Sequence[str], units: Sequence[MarkdownUnit]) -> int | None:
    """Returns the line at which a merge conflict begins: its three marks, outside of code."""
    code = {n for unit in units if unit.kind == "code" for n in range(unit.start, unit.end)}
    wanted, first = list(_CONFLICT), None
    for at, line in enumerate(lines):
        if wanted and at not in code and wanted[0].match(line):
            first = at if first is None else first
            wanted.pop(0)
    return None if wanted else first
