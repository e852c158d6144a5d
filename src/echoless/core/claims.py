"""Cuts a text into claims: sentences, list items, rows of tables, blocks of code.

Notes of agents are mostly Markdown. What is read of it here is its layout by lines, and where a
sentence ends. The claims of a text lie side by side and cover all of it, so an edit of one moves no
other. A short text is one claim.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain, islice
from typing import Final

from echoless.core.text import lazy_pattern, normalise, token_estimate, words

LONG: Final = 160
"""Estimated tokens of a text above which it is long. The pair model reads 256 pieces of both texts
together, 126 of each where they are alike; nine in ten real notes have at least 0.79 pieces for
each estimated token. So two longer texts do not fit, and shorter ones are read whole."""

MOST_CLAIMS: Final = 1_024
"""Number of claims of one text that are compared; the rest of the text is one more claim, which
only an equal claim matches."""

_LEAST_WORDS: Final = 4
"""Words of a sentence that is a claim of its own; a shorter one belongs to the one before it."""

_LEAD: Final = 200
"""Characters of a paragraph that is taken for the lead of a list, at most."""

_COMMENT_END: Final = "-->"
_FENCE: Final = lazy_pattern(r"[ \t]*(`{3,}|~{3,})")
_HEADING: Final = lazy_pattern(r" {0,3}(#{1,6})(?:[ \t]|$)")
_UNDERLINE: Final = lazy_pattern(r" {0,3}(=+|-+)[ \t]*$")
_BREAK: Final = lazy_pattern(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_ITEM: Final = lazy_pattern(r"([ \t]*)(?:[-*+\u2022\u25cf\u25aa\u2023]|(\d{1,3})[.)])[ \t]+(?=\S)")
_LABEL: Final = lazy_pattern(r"\*\*[^*\n]{1,60}(?::\*\*|\*\*[ \t]?:)")
_BOLD: Final = lazy_pattern(r"(\*\*|__)[^*_\n]{1,100}\1:?$")
_INDENT: Final = lazy_pattern(r"[ \t]*")
_END: Final = lazy_pattern(
    r"(?<![.!?])[.!?]{1,8}[*_\"'\u2019\u201d\u00bb)\]]{0,4}(?=\s+[^\sa-z])"
    r"|[\u3002\uff01\uff1f]+[\u300d\u300f\u201d\uff09*_]{0,4}"
)
_ABBREVIATION: Final = lazy_pattern(
    r"(?:^|[\s(.])(?:\w|\d{1,2}|[A-Z]\w{0,3}|e\.g|i\.e|etc|vs|bzw|usw|resp|ca|aprox|incl|approx)\.$"
)
_MARKER: Final = lazy_pattern(r"(?:>[ \t]?)*(?:[-*+\u2022\u25cf\u25aa\u2023]|\d{1,3}[.)])[ \t]+")
_FIELD: Final = lazy_pattern(r"\n(?=[ \t]*(?:\*\*)?[^\W\d_][\w /-]{0,40}(?:\*\*)?:(?:\*\*)?[ \t])")
_PLACE: Final = lazy_pattern(
    r"(?:\[[^\]\n]*\]\([^)\n]*\)|(?=[^/\\.]*[/\\.])[\w.~/\\-]+|https?://\S*)"
)
_AHEAD: Final = 200
_TAIL: Final = 12
"""Characters that are read after a mark, and before it, to tell whether a sentence ends there."""
_LINK: Final = lazy_pattern(r"\[\[[^\[\]\n]*\]\]|\[[^\[\]\n]*\]\([^()\n]*\)")
_RULE: Final = lazy_pattern(r"(?=[^-]*-)[\s|:+-]+$")
_TAB: Final = 4


class ClaimKind(StrEnum):
    """Kinds of claims."""

    HEADING = "heading"
    SENTENCE = "sentence"
    ITEM = "item"
    CODE = "code"
    ROW = "row"
    METADATA = "metadata"
    REST = "rest"


@dataclass(frozen=True, slots=True)
class Claim:
    """A part of a text.

    Attributes:
        start: Offset of its first character.
        end: Offset after its last character; white space between claims belongs to the first.
        kind: `metadata` is front matter; `rest` is what lies beyond `MOST_CLAIMS`.
        context: Headings, leads and list items it stands under, outermost first, in normal form.
        ordered: It is an item of a numbered list, where the order of items carries meaning.
        headings: How many of the context are headings; they come first.
        block: Where its paragraph, item, row or block of code begins: sentences of one block hang
            together.
    """

    start: int
    end: int
    kind: ClaimKind
    context: tuple[str, ...] = ()
    ordered: bool = False
    headings: int = 0
    block: int = 0

    @property
    def span(self) -> tuple[int, int]:
        """Returns start and end."""
        return self.start, self.end

    def of(self, text: str) -> str:
        """Returns what a claim says: without the mark of its item and the bars of its row."""
        said = text[self.start : self.end].strip()
        if self.kind is ClaimKind.ITEM:
            return unmarked(said)
        return said.strip("| \t") if self.kind is ClaimKind.ROW else said


def unmarked(said: str) -> str:
    """Returns what a list item says, without the mark before it."""
    mark = _MARKER.match(said)
    return said[mark.end() :] if mark else said


def is_long(text: str) -> bool:
    """Checks whether a text has more than `LONG` estimated tokens."""
    if len(text) <= LONG:
        return False
    return len(text) > 4 * LONG if text.isascii() else token_estimate(text) > LONG


def split_claims(text: str) -> tuple[Claim, ...]:
    """Returns the claims of a text in their order; they cover it without a gap.

    Args:
        text: Any text. An empty one has no claim.
    """
    splitter = _Splitter(text, _last_comment=text.rfind(_COMMENT_END))
    for line, start in _lines(text):
        splitter.take(line, start)
    blocks = _with_bare_headings(splitter.close())
    claims = list(islice(chain.from_iterable(_parts(text, block) for block in blocks), MOST_CLAIMS))
    if claims and claims[-1].end < len(text):
        end = claims[-1].end
        claims.append(Claim(end, len(text), ClaimKind.REST, block=end))
    return tuple(claims)


def is_bare(said: str) -> bool:
    """Checks whether a claim says nothing by itself: a title, the name of a list, a path, a scrap.

    Args:
        said: The claim as `Claim.of` returns it.
    """
    plain = said.strip("*_` \t")
    if not plain or plain.endswith((":", "\uff1a")) or _PLACE.fullmatch(plain) is not None:
        return True
    field = ":" in plain or "\uff1a" in plain
    return (not field or _LINK.search(plain) is not None) and weight(plain) < _LEAST_WORDS


def leads_on(said: str) -> bool:
    """Checks whether a claim begins with a link to a note: it says where to read of something."""
    link = _LINK.match(said.lstrip("-*+_→> \t"))
    return link is not None and "://" not in link[0]


def weight(said: str) -> int:
    """Returns how many words of a claim say something: with a letter, and outside its links.

    Args:
        said: The claim as `Claim.of` returns it.
    """
    beside = _LINK.sub(" ", said) if "[" in said else said
    return sum(any(map(str.isalpha, word)) for word in words(beside))


# ------------------------------------------------------------------ parts of a block


def _parts(text: str, block: Claim) -> Iterator[Claim]:
    """Yields the claims of a block: the rows of a table, the sentences of running text."""
    match block.kind:
        case ClaimKind.ROW:
            yield from _rows(text, block)
        case ClaimKind.SENTENCE | ClaimKind.ITEM:
            start = block.start
            for end in (*_ends(text, block.start, block.end), block.end):
                yield replace(block, start=start, end=end, block=block.start)
                start = end
        case _:
            yield replace(block, block=block.start)


def _rows(text: str, table: Claim) -> Iterator[Claim]:
    """Yields the rows of a table; its head is a heading of the others, if it has one."""
    lines = _lines(text[table.start : table.end])
    starts = [table.start + at for line, at in lines if line.strip()]
    starts[0] = table.start
    spans = list(zip(starts, [*starts[1:], table.end], strict=True))
    if len(spans) > 2 and _RULE.match(text[slice(*spans[1])].strip()) is not None:
        end = spans[1][1]
        yield replace(table, end=end, kind=ClaimKind.HEADING)
        head = _form(text[table.start : spans[0][1]])
        table, spans = replace(table, context=(*table.context, head)), spans[2:]
    yield from (replace(table, start=start, end=end, block=start) for start, end in spans)


def _ends(text: str, start: int, end: int) -> Iterator[int]:
    """Yields where a sentence of running text ends and another one begins."""
    last = len(text[start:end].rstrip()) + start
    marks = heapq.merge(
        ((each.end(), _LEAST_WORDS) for each in _END.finditer(text, start, last)),
        ((each.start(), 2) for each in _FIELD.finditer(text, start, last)),
    )
    size, ticks = 0, 0
    for mark, least in marks:
        size += _size(text[start:mark])
        ticks += text.count("`", start, mark)
        start = mark
        ahead = text[mark : min(last, mark + _AHEAD)]
        if ticks % 2 or min(size, _size(ahead)) < least:
            continue
        if _ABBREVIATION.search(text[max(0, mark - _TAIL) : mark]) is None:
            yield mark + len(ahead) - len(ahead.lstrip())
            size = ticks = 0


def _size(said: str) -> int:
    """Returns how many words a text has; scripts without spaces count pairs of characters."""
    return len(words(said))


def _lines(text: str) -> Iterator[tuple[str, int]]:
    """Yields the lines of a text without their ends, and their offsets."""
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        stop = len(text) if end < 0 else end
        yield text[start:stop].rstrip("\r"), start
        start = stop + 1


def _with_bare_headings(claims: Sequence[Claim]) -> Iterator[Claim]:
    """Yields claims; a heading over nothing is a paragraph, as it says something by itself."""
    for at, claim in enumerate(claims):
        following = claims[at + 1] if at + 1 < len(claims) else None
        inside = following is not None and len(following.context) > len(claim.context)
        if claim.kind is ClaimKind.HEADING and not inside:
            yield replace(claim, kind=ClaimKind.SENTENCE)
        else:
            yield claim


@dataclass(slots=True)
class _Splitter:
    """Reads a text line by line.

    Attributes:
        text: The whole text.
        claims: Finished claims.
        headings: Level and normal form of the headings that hold here.
        lead: Paragraph that introduces what follows: a line in bold up to the next one, a line that
            ends no sentence for the list or block after it. Empty if there is none.
        items: Indent and normal form of the list items that hold here.
    """

    text: str
    claims: list[Claim] = field(default_factory=list)
    headings: list[tuple[int, str]] = field(default_factory=list)
    lead: str = ""
    items: list[tuple[int, str]] = field(default_factory=list)
    _open: Claim | None = None
    _lines: int = 0
    _fence: str = ""
    _blank: bool = True
    _bold: bool = False
    _last_comment: int = -1
    """Where the last comment of the text ends."""

    def take(self, line: str, start: int) -> None:
        """Takes the next line of the text."""
        if self._open is not None and self._open.kind is ClaimKind.REST:
            return
        if self._fence:
            self._inside_fence(line)
        elif not line.strip():
            self._blank = True
        else:
            self._classify(line, start)
            self._blank = False

    def close(self) -> list[Claim]:
        """Returns all claims, the first from the start of the text, the last to its end."""
        self._finish(len(self.text))
        if not self.claims and self.text:
            self.claims.append(Claim(0, len(self.text), ClaimKind.SENTENCE))
        if self.claims:
            self.claims[0] = replace(self.claims[0], start=0)
        return self.claims

    def _inside_fence(self, line: str) -> None:
        """Takes a line of a block in fences, which may be the mark that ends it."""
        bare = line.strip()
        if self._fence == _COMMENT_END:
            if _COMMENT_END in bare:
                self._fence, self._blank = "", True
        elif self._fence == "---":
            if bare in {"---", "..."}:
                self._fence, self._blank = "", True
        elif bare.startswith(self._fence) and not bare.strip(self._fence[0]):
            self._fence, self._blank = "", True

    def _classify(self, line: str, start: int) -> None:
        """Begins a claim with a line, or adds the line to the open one."""
        if (
            start == 0
            and line.rstrip() == "---"
            and re.search(r"\n---[ \t]*\r?(?:\n|$)", self.text)
        ):
            self._fence = "---"
            self._begin(ClaimKind.METADATA, start)
        elif self._is_comment(line, start):
            self._begin(ClaimKind.METADATA, start)
            self._fence = "" if _COMMENT_END in line else _COMMENT_END
        elif (fence := _FENCE.match(line)) is not None:
            self._leave_items(line)
            self._fence = fence[1]
            self._begin(ClaimKind.CODE, start)
        elif (heading := _HEADING.match(line)) is not None:
            self._heading(len(heading[1]), line, start)
        elif self._underlined(line):
            self._heading_above(1 if "=" in line else 2)
        elif _BREAK.match(line) is not None:
            self._blank = True
        elif (item := _ITEM.match(line)) is not None:
            self._item(line, start, ordered=item[2] is not None)
        elif line.lstrip().startswith("|"):
            if not self._continues(ClaimKind.ROW):
                self._leave_items(line)
                self._begin(ClaimKind.ROW, start)
        else:
            self._plain(line, start)
        self._lines += 1

    def _is_comment(self, line: str, start: int) -> bool:
        """Checks whether a line is a comment, or begins one that a later line ends."""
        bare = line.strip()
        ends = bare.endswith(_COMMENT_END) if _COMMENT_END in bare else self._last_comment > start
        return bare.startswith("<!--") and ends

    def _continues(self, *kinds: ClaimKind) -> bool:
        """Checks whether the open claim is of such a kind and no blank line ended it."""
        return self._open is not None and not self._blank and self._open.kind in kinds

    def _plain(self, line: str, start: int) -> None:
        """Takes a line of running text."""
        running = self._continues(ClaimKind.SENTENCE, ClaimKind.ITEM)
        if running and _LABEL.match(line.lstrip()) is None:
            return
        self._leave_items(line)
        self._begin(ClaimKind.SENTENCE, start)

    def _item(self, line: str, start: int, *, ordered: bool) -> None:
        """Begins a list item."""
        indent = _width(line)
        self._finish(start)
        while self.items and self.items[-1][0] >= indent:
            self.items.pop()
        self._begin(ClaimKind.ITEM, start, ordered=ordered)
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
        self._begin(ClaimKind.HEADING, start)
        self.headings.append((level, _form(line)))

    def _underlined(self, line: str) -> bool:
        """Checks whether a line underlines a paragraph of one line, which is a heading then."""
        is_line = self._continues(ClaimKind.SENTENCE) and self._lines == 1
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

    def _begin(self, kind: ClaimKind, start: int, *, ordered: bool = False) -> None:
        """Opens a claim and closes the one before."""
        self._finish(start)
        if len(self.claims) >= MOST_CLAIMS:
            self._open = Claim(start, len(self.text), ClaimKind.REST)
            return
        if kind is ClaimKind.SENTENCE and not self.items and not self._bold:
            self.lead = ""
        leads = [self.lead] if self.lead else []
        context = (*(t for _, t in self.headings), *leads, *(t for _, t in self.items))
        self._open = Claim(start, start, kind, context, ordered, len(self.headings))
        self._lines = 0

    def _finish(self, end: int) -> None:
        """Closes the open claim, which may introduce what follows."""
        claim, self._open = self._open, None
        if claim is None:
            return
        claim = replace(claim, end=end)
        self.claims.append(claim)
        if claim.kind is ClaimKind.SENTENCE and not self.items:
            said = claim.of(self.text)
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
