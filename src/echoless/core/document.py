"""An answer as a tree of blocks, before it is rendered for a terminal, as Markdown or as HTML.

Each answer (an audit, a plan, a run, an explanation) has one function that returns its blocks, and
`core/rendering.py` and `cli/terminal.py` render the blocks of any of them. A page shows two texts
beside each other and a figure as a bar; where there is no room for that, `simple` puts paragraphs
and tables in the place of such blocks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from echoless.core import text as wording
from echoless.core.masking import OUTPUT, excerpt
from echoless.core.model import Json

Style: TypeAlias = Literal["", "strong", "dim", "old", "new", "good", "bad"]

number, percent, count = wording.number, wording.percent, wording.count

_ISO: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")

PREVIEW: Final = 400
"""Characters of a memory shown in a list; `show` prints all of it."""


@dataclass(frozen=True, slots=True)
class Span:
    """Some text in one style."""

    text: str
    style: Style = ""


Line: TypeAlias = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Heading:
    """Title of the blocks that follow, up to the next heading."""

    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text, or an item of a list; a line feed in it is shown as such.

    Attributes:
        line: Spans of the text.
        level: 0 for running text; deeper levels are indented, and items of a list in Markdown.
        whole: Whether a terminal gets it in one line: it is a command to copy.
        cut: Whether a terminal cuts it at its edge.
    """

    line: Line
    level: int = 0
    whole: bool = False
    cut: bool = False


@dataclass(frozen=True, slots=True)
class MemoryText:
    """Text of a memory in its own lines, indented so that none is taken for a line of ours."""

    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text.

    Attributes:
        headers: One for each column.
        rows: Cells.
        numbers: Positions of columns set to the right.
        bars: Lengths of one or two bars for each row, which a page draws; none by default.
        bar_names: What each of the bars of a row stands for.
    """

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()
    bars: tuple[tuple[float, ...], ...] = ()
    bar_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Gap:
    """An empty line."""


@dataclass(frozen=True, slots=True)
class Quote:
    """The text of a memory. A page shows all of it, any other form its beginning on one line.

    Attributes:
        text: As it is in the memory; None for a memory that is gone.
        id: The memory.
        facts: Facts that a page shows beside the id, such as date and namespace.
        level: As of a paragraph.
    """

    text: str | None
    id: str = ""
    facts: tuple[str, ...] = ()
    level: int = 1


@dataclass(frozen=True, slots=True)
class TextPair:
    """Two texts and the words that differ. A page shows both, any other form one line.

    Texts with less than half of their words in common, and those of which neither goes, are shown
    as they are.

    Attributes:
        old: The text that goes.
        new: The one that stays.
        title: What stands before the line.
        level: As of a paragraph.
        always: Whether equal texts are shown as well.
        decided: Whether it is known which of the two stays.
        new_above: Whether the text that stays is above already.
    """

    old: Quote
    new: Quote
    title: str = ""
    level: int = 2
    always: bool = False
    decided: bool = True
    new_above: bool = False


@dataclass(frozen=True, slots=True)
class Figures:
    """Numbers of which each has a name; a page shows them large."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Box:
    """Blocks about one thing, such as a group; a page draws a frame around the blocks.

    Attributes:
        blocks: In their order.
        spaced: Whether an empty line follows where there is no frame.
    """

    blocks: tuple[Block, ...]
    spaced: bool = True


Simple: TypeAlias = Heading | Paragraph | MemoryText | Table | Gap
"""Blocks that every form of an answer shows in its own way."""

Block: TypeAlias = Simple | Quote | TextPair | Figures | Box


def simple(blocks: Iterable[Block]) -> Iterator[Simple]:
    """Yields blocks with paragraphs in the place of those that only a page shows in another way."""
    for block in blocks:
        match block:
            case Quote(text=text, level=level):
                yield say(flat(text or ""), level=level)
            case TextPair():
                yield from _both(block)
            case Figures(rows):
                yield Table(("figure", "value"), rows, frozenset({1}))
            case Box(inner, spaced):
                yield from simple(inner)
                if spaced:
                    yield Gap()
            case _:
                yield block


def _both(pair: TextPair) -> Iterator[Paragraph]:
    """Yields what differs of two texts in one line, or the texts below each other."""
    if pair.old.text == pair.new.text and not pair.always:
        return
    old, new = flat(pair.old.text or ""), flat(pair.new.text or "")
    from echoless.core import text_difference

    if old == new or (pair.decided and text_difference.alike(old, new)):
        yield say(pair.title, *difference(old, new), level=pair.level)
        return
    yield say(pair.title, old, level=pair.level)
    if not pair.new_above:
        yield say(pair.title, new, level=pair.level)


def say(*parts: str | Span, level: int = 0) -> Paragraph:
    """Returns a paragraph made of texts and spans."""
    return Paragraph(tuple(Span(p) if isinstance(p, str) else p for p in parts), level)


def legend(old: str, new: str, *, title: str = "Differences") -> Paragraph:
    """Returns what the marks of a difference mean.

    Args:
        old: Place of the removed words, such as `only there`.
        new: Place of the added words, such as `only here`.
        title: Words in front of the two places.
    """
    return say(f"{title}: ", Span(old, "old"), " ", Span(new, "new"), ".")


def cut(*parts: str | Span, level: int = 0) -> Paragraph:
    """Returns a paragraph that a terminal cuts at its edge."""
    return replace(say(*parts, level=level), cut=True)


def command(line: str, *, before: str = "", level: int = 1) -> Paragraph:
    """Returns a command to copy on a line of its own, which is never folded."""
    return Paragraph((Span(before), Span(line)), level, whole=True)


def strong(text: str) -> Span:
    """Returns emphasised text."""
    return Span(text, "strong")


def dim(text: str) -> Span:
    """Returns text of less weight."""
    return Span(text, "dim")


def flat(text: str, limit: int = PREVIEW) -> str:
    """Returns a memory's text on one line, with secrets masked, cut at `limit` characters."""
    return excerpt(text, limit)


def quoted(text: str) -> str:
    """Returns a reason that quotes words of memories, with their secrets masked."""
    return OUTPUT.reason(text)


def short_time(text: str) -> str:
    """Returns an ISO time without seconds (`2026-11-25 03:58`); any other spelling unchanged."""
    return f"{text[:10]} {text[11:16]}" if _ISO.match(text) else text


def names(ids: Iterable[str], limit: int = 5) -> str:
    """Returns the first few ids and how many more there are."""
    listed = list(ids)
    more = len(listed) - limit
    return ", ".join(listed[:limit]) + (f" and {number(more)} more" if more > 0 else "")


def difference(old: str, new: str) -> Line:
    """Returns the word-by-word difference of two texts as spans."""
    from echoless.core import text_difference

    return tuple(Span(part.text, part.change) for part in text_difference.word_difference(old, new))


def texts_in(value: Json) -> list[str]:
    """Returns the texts of a JSON list; none for any other value."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def records_in(value: Json) -> list[Mapping[str, Json]]:
    """Returns the objects of a JSON list; none for any other value."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


Repeat: TypeAlias = Callable[[str, int], str]
"""Returns what a reader types to see more, given an option and its value."""


def more(left: int, line: str | None = None, *, level: int = 0) -> Block:
    """Returns how many are not shown, and the command that shows them.

    Args:
        left: How many.
        line: The command, or an option for it; None where there is none.
        level: Of the paragraph.
    """
    if not line:
        return say(dim(f"{number(left)} more."), level=level)
    return command(line, before=f"{number(left)} more: ", level=level)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How much of a report is shown.

    Attributes:
        top: Largest groups.
        members: Members of each of these groups.
        pairs: Pairs of each kind that look alike and stay apart.
        explain: Whether the rule and the similarity of each verdict are shown.
        parts: Namespaces or months that are all listed; of more, those with redundant copies.
        repeat: How a reader sees more; None where there is no way.
    """

    top: int
    members: int
    pairs: int
    explain: bool = False
    parts: int = 12
    repeat: Repeat | None = None

    def more(self, shown: int, whole: int, option: str, *, level: int = 0) -> Iterator[Block]:
        """Yields how many are not shown, if any, and how to see all of them."""
        if shown < whole:
            line = self.repeat and self.repeat(option, whole)
            yield more(whole - shown, line, level=level)
