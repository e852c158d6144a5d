"""Cuts a long text into passages: paragraphs, list items, tables, blocks of code.

Notes of agents are mostly Markdown. What is read of it here is its layout by lines; nothing inside
a line is interpreted. The passages of a text lie side by side and cover all of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from echoless.core.expressions import lazy_pattern
from echoless.core.text import normalise, token_estimate

LONG: Final = 160
"""Estimated tokens of a text above which it is long. The pair model reads 256 pieces of both texts
together, 126 of each where they are alike; nine in ten real notes have at least 0.79 pieces for
each estimated token. So two longer texts do not fit, and shorter ones are read whole."""

MOST_PASSAGES: Final = 256
"""Number of passages of one text that are compared; the rest of the text is one more passage,
which only an equal passage matches."""

_LEAD: Final = 200
"""Characters of a paragraph that is taken for the lead of a list, at most."""

_FENCE: Final = lazy_pattern(r"[ \t]*(`{3,}|~{3,})")
_HEADING: Final = lazy_pattern(r" {0,3}(#{1,6})(?:[ \t]|$)")
_UNDERLINE: Final = lazy_pattern(r" {0,3}(=+|-+)[ \t]*$")
_BREAK: Final = lazy_pattern(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_ITEM: Final = lazy_pattern(r"([ \t]*)(?:[-*+\u2022\u25cf\u25aa\u2023]|(\d{1,3})[.)])[ \t]+(?=\S)")
_LABEL: Final = lazy_pattern(r"\*\*[^*\n]{1,60}(?::\*\*|\*\*[ \t]?:)")
_BOLD: Final = lazy_pattern(r"(\*\*|__)[^*_\n]{1,100}\1:?$")
_INDENT: Final = lazy_pattern(r"[ \t]*")
_TAB: Final = 4


class PassageKind(StrEnum):
    """Kinds of passages."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    CODE = "code"
    TABLE = "table"
    METADATA = "metadata"
    REST = "rest"


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a text.

    Attributes:
        start: Offset of its first character.
        end: Offset after its last character; white space between passages belongs to the first.
        kind: `metadata` is front matter; `rest` is what lies beyond `MOST_PASSAGES`.
        context: Headings, leads and list items it stands under, outermost first, in normal form.
        ordered: It is an item of a numbered list, where the order of items carries meaning.
        headings: How many of the context are headings; they come first.
    """

    start: int
    end: int
    kind: PassageKind
    context: tuple[str, ...] = ()
    ordered: bool = False
    headings: int = 0

    def of(self, text: str) -> str:
        """Returns the passage of a text without the white space around it."""
        return text[self.start : self.end].strip()


def is_long(text: str) -> bool:
    """Checks whether a text has more than `LONG` estimated tokens."""
    if len(text) <= LONG:
        return False
    return len(text) > 4 * LONG if text.isascii() else token_estimate(text) > LONG


def split_passages(text: str) -> tuple[Passage, ...]:
    """Returns the passages of a text in their order; they cover it without a gap.

    Args:
        text: Any text. An empty one has no passage.
    """
    splitter = _Splitter(text)
    for line, start in _lines(text):
        splitter.take(line, start)
    return tuple(_with_bare_headings(splitter.close()))


def _lines(text: str) -> Iterator[tuple[str, int]]:
    """Yields the lines of a text without their ends, and their offsets."""
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        stop = len(text) if end < 0 else end
        yield text[start:stop].rstrip("\r"), start
        start = stop + 1


def _with_bare_headings(passages: Sequence[Passage]) -> Iterator[Passage]:
    """Yields passages; a heading over nothing is a paragraph, as it says something by itself."""
    for at, passage in enumerate(passages):
        following = passages[at + 1] if at + 1 < len(passages) else None
        inside = following is not None and len(following.context) > len(passage.context)
        if passage.kind is PassageKind.HEADING and not inside:
            yield replace(passage, kind=PassageKind.PARAGRAPH)
        else:
            yield passage


@dataclass(slots=True)
class _Splitter:
    """Reads a text line by line.

    Attributes:
        text: The whole text.
        passages: Finished passages.
        headings: Level and normal form of the headings that hold here.
        lead: Paragraph that introduces what follows: a line in bold up to the next one, a line that
            ends no sentence for the list or block after it. Empty if there is none.
        items: Indent and normal form of the list items that hold here.
    """

    text: str
    passages: list[Passage] = field(default_factory=list)
    headings: list[tuple[int, str]] = field(default_factory=list)
    lead: str = ""
    items: list[tuple[int, str]] = field(default_factory=list)
    _open: Passage | None = None
    _lines: int = 0
    _fence: str = ""
    _blank: bool = True
    _bold: bool = False

    def take(self, line: str, start: int) -> None:
        """Takes the next line of the text."""
        if self._open is not None and self._open.kind is PassageKind.REST:
            return
        if self._fence:
            self._inside_fence(line)
        elif not line.strip():
            self._blank = True
        else:
            self._classify(line, start)
            self._blank = False

    def close(self) -> list[Passage]:
        """Returns all passages, the first from the start of the text, the last to its end."""
        self._finish(len(self.text))
        if not self.passages and self.text:
            self.passages.append(Passage(0, len(self.text), PassageKind.PARAGRAPH))
        if self.passages:
            self.passages[0] = replace(self.passages[0], start=0)
        return self.passages

    def _inside_fence(self, line: str) -> None:
        """Takes a line of a block in fences, which may be the mark that ends it."""
        bare = line.strip()
        if self._fence == "---":
            if bare in {"---", "..."}:
                self._fence, self._blank = "", True
        elif bare.startswith(self._fence) and not bare.strip(self._fence[0]):
            self._fence, self._blank = "", True

    def _classify(self, line: str, start: int) -> None:
        """Begins a passage with a line, or adds the line to the open one."""
        if (
            start == 0
            and line.rstrip() == "---"
            and re.search(r"\n---[ \t]*\r?(?:\n|$)", self.text)
        ):
            self._fence = "---"
            self._begin(PassageKind.METADATA, start)
        elif (fence := _FENCE.match(line)) is not None:
            self._leave_items(line)
            self._fence = fence[1]
            self._begin(PassageKind.CODE, start)
        elif (heading := _HEADING.match(line)) is not None:
            self._heading(len(heading[1]), line, start)
        elif self._underlined(line):
            self._heading_above(1 if "=" in line else 2)
        elif _BREAK.match(line) is not None:
            self._blank = True
        elif (item := _ITEM.match(line)) is not None:
            self._item(line, start, ordered=item[2] is not None)
        elif line.lstrip().startswith("|"):
            if not self._continues(PassageKind.TABLE):
                self._leave_items(line)
                self._begin(PassageKind.TABLE, start)
        else:
            self._plain(line, start)
        self._lines += 1

    def _continues(self, *kinds: PassageKind) -> bool:
        """Checks whether the open passage is of such a kind and no blank line ended it."""
        return self._open is not None and not self._blank and self._open.kind in kinds

    def _plain(self, line: str, start: int) -> None:
        """Takes a line of running text."""
        running = self._continues(PassageKind.PARAGRAPH, PassageKind.ITEM)
        if running and _LABEL.match(line.lstrip()) is None:
            return
        self._leave_items(line)
        self._begin(PassageKind.PARAGRAPH, start)

    def _item(self, line: str, start: int, *, ordered: bool) -> None:
        """Begins a list item."""
        indent = _width(line)
        self._finish(start)
        while self.items and self.items[-1][0] >= indent:
            self.items.pop()
        self._begin(PassageKind.ITEM, start, ordered=ordered)
        self.items.append((indent, _form(line)))

    def _leave_items(self, line: str) -> None:
        """Ends the list items that a line does not stand in."""
        indent = _width(line)
        while self.items and self.items[-1][0] >= indent:
            self.items.pop()

    def _heading(self, level: int, line: str, start: int) -> None:
        """Begins a heading, which ends all headings of the same or a lower level."""
        self._finish(start)
        self.lead, self.items = "", []
        while self.headings and self.headings[-1][0] >= level:
            self.headings.pop()
        self._begin(PassageKind.HEADING, start)
        self.headings.append((level, _form(line)))

    def _underlined(self, line: str) -> bool:
        """Checks whether a line underlines a paragraph of one line, which is a heading then."""
        is_line = self._continues(PassageKind.PARAGRAPH) and self._lines == 1
        return is_line and not self.items and _UNDERLINE.match(line) is not None

    def _heading_above(self, level: int) -> None:
        """Makes a heading of the open paragraph, whose underline was read."""
        if self._open is None:
            return
        start = self._open.start
        line = self.text[start : self.text.find("\n", start)]
        self._open = None
        self._heading(level, line, start)
        self._blank = True

    def _begin(self, kind: PassageKind, start: int, *, ordered: bool = False) -> None:
        """Opens a passage and closes the one before."""
        self._finish(start)
        if len(self.passages) >= MOST_PASSAGES:
            self._open = Passage(start, len(self.text), PassageKind.REST)
            return
        if kind is PassageKind.PARAGRAPH and not self.items and not self._bold:
            self.lead = ""
        leads = [self.lead] if self.lead else []
        context = (*(t for _, t in self.headings), *leads, *(t for _, t in self.items))
        self._open = Passage(start, start, kind, context, ordered, len(self.headings))
        self._lines = 0

    def _finish(self, end: int) -> None:
        """Closes the open passage, which may introduce what follows."""
        passage, self._open = self._open, None
        if passage is None:
            return
        passage = replace(passage, end=end)
        self.passages.append(passage)
        if passage.kind is PassageKind.PARAGRAPH and not self.items:
            said = passage.of(self.text)
            bold = _BOLD.match(said) is not None
            if bold or (not said.endswith(_STOPS) and len(said) <= _LEAD):
                self.lead, self._bold = _form(said).rstrip(":\uff1a"), bold


_STOPS: Final = (".", "!", "?", ";", "\u3002", "\uff01", "\uff1f")


def _width(line: str) -> int:
    """Returns the columns of white space before a line."""
    indent = _INDENT.match(line)
    return 0 if indent is None else len(indent[0].expandtabs(_TAB))


def _form(line: str) -> str:
    """Returns a heading, lead or item as it counts in a context."""
    return normalise(line.strip().rstrip("#"), fold_case=True)
