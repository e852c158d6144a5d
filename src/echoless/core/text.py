"""Text functions used everywhere: normal form, words, shingles, digests, what a reader sees.

Pure and versioned: `TEXT_VERSION` is part of every settings digest, so a change here makes old
caches and plans differ visibly. Works for every script; scripts written without spaces (Chinese,
Japanese, Thai, Lao, Khmer, Burmese) are cut into runs and single characters instead of words.
"""

from __future__ import annotations

import hashlib
import html
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import lru_cache
from types import MappingProxyType
from typing import Final, Generic, TypeVar


class _LazyPattern:
    """Stands for a compiled expression; its methods are looked up once."""

    def __init__(self, source: str, flags: int) -> None:
        self._made_of = (source, flags)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # asked by `copy` and the like, which then do without
            raise AttributeError(name)
        method = getattr(re.compile(*self._made_of), name)
        setattr(self, name, method)
        return method


def lazy_pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """Returns a stand-in for a regular expression, which is compiled at the first use.

    Args:
        source: The expression.
        flags: As of `re.compile`.
    """
    return _LazyPattern(source, flags)  # type: ignore[return-value]


TEXT_VERSION: Final = 2

_UNSPACED: Final = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Burmese, Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"  # Japanese syllables and iteration marks
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    "\U00020000-\U0003ffff"
)
_UNSPACED_RUN: Final = lazy_pattern(f"[{_UNSPACED}]+")
_WORD: Final = lazy_pattern(r"\w+(?:['’]\w+)*", re.UNICODE)
_SPACE: Final = lazy_pattern(r"\s+", re.UNICODE)
_INVISIBLE: Final = lazy_pattern(
    "[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]"
)
_SUPERSCRIPT: Final = lazy_pattern("([⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
_FRACTION: Final = lazy_pattern("(\\d?)([¼-¾⅐-⅞])")
_QUOTES: Final = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′`´", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("‐‑", "-"),
        "⁄": "/",
    }
)

_HEADING: Final = lazy_pattern(r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?(?![ \t]*[\d.]))+", re.MULTILINE)
_BULLET: Final = lazy_pattern(
    r"^[ \t]*(?:[*•‣▪]|[-+](?![ \t]*[\d.]))[ \t]+(?!\[[ xX]\])", re.MULTILINE
)
_STRONG: Final = lazy_pattern(r"(?<![\w*])(\*{1,3})(?=\S)([^*\n]+?)(?<=\S)\1(?![\w*])")
_CODE_SPAN: Final = lazy_pattern(r"(`{1,2})([^`\n]{1,2000})\1")
_FENCE: Final = lazy_pattern(r"^[ \t]*```[\w+-]*[ \t]*$", re.MULTILINE)

BOXES: Final[Mapping[str, str]] = MappingProxyType(
    {
        " ": "open",
        **dict.fromkeys("xX\u2713\u2714", "done"),
        **dict.fromkeys("/~", "in progress"),
        "-": "cancelled",
        ">": "forwarded",
        "<": "scheduled",
        "?": "question",
        "!": "important",
        "*": "star",
        '"': "quote",
        **dict(
            zip("lbiSI", ("location", "bookmark", "information", "savings", "idea"), strict=True)
        ),
        **dict(zip("pcfkwud", ("pro", "con", "fire", "key", "win", "up", "down"), strict=True)),
    }
)
"""State of a task by the sign in its box. Sources: publish.obsidian.md/tasks, Reference, Status
Collections: Minimal Theme and Things Theme; any other sign is a state of its own."""
BOX: Final = lazy_pattern(
    r"\[(?P<inside>[ xX\u2713\u2714/~-](?=\](?!\())|[^\[\]\d\n](?=\]\s))\]\s*"
)
_LIST_MARK: Final = lazy_pattern(r"(?:[-*+]|\d{1,9}[.)])[ \t]+")
_STRIKE: Final = lazy_pattern(
    r"`[^`\n]*`|\n[ \t]*\n|(?<![~\\])(?P<two>~~)(?!~)"
    r"|(?P<one>(?<![\w~\\/])~(?![~\s/])|(?<=[^\s~\\])~(?![\w~/]))"
    r"|<(?P<ends>/?)(?P<tag>del|s|strike)(?:\s[^>]{0,200})?>",
    re.IGNORECASE,
)
_LETTER: Final = lazy_pattern(r"\w")


def valid_unicode(text: str) -> str:
    """Returns the text with `?` for lone surrogates, which no tokenizer and no server takes."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def is_blank(text: str) -> bool:
    """Returns whether a text holds nothing but white space and invisible characters."""
    if "!" <= text[:1] <= "~":  # most texts begin with what can be seen
        return False
    return not _INVISIBLE.sub("", text).strip()


def unreadable(text: str) -> str | None:
    """Returns what keeps a text from being stored or compared, or None.

    Lone surrogates have no UTF-8 form; a NUL ends the text for SQLite's own functions.

    Returns:
        A half sentence such as `a NUL character at position 7`.
    """
    nul = text.find("\0")
    if nul >= 0:
        return f"a NUL character at position {nul}"
    if text.isascii():
        return None
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as problem:
        return f"a lone surrogate at position {problem.start}"
    return None


def has_utf8(text: str) -> bool:
    """Returns whether a text has a UTF-8 form: lone surrogates have none."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


_VOID: Final = ("br", "hr", "img", "wbr")
_BLOCK: Final = (
    "p|div|h[1-6]|ul|ol|li|dl|dt|dd|blockquote|pre|table|thead|tbody|tr|td|th|section|article"
    "|header|footer|figure|figcaption|center|details|summary"
)
_INLINE: Final = (
    "b|i|u|em|strong|big|small|mark|sub|sup|span|font|a|abbr|cite|code|kbd|samp|var|q|tt|ins"
)
_HTML: Final = lazy_pattern(
    r"(?P<code>```.*?(?:```|\Z)|(?P<ticks>`{1,2})[^`\n]{1,2000}(?P=ticks))"
    rf"|<(?P<ends>/?)(?P<tag>{'|'.join(_VOID)}|{_BLOCK}|{_INLINE})(?P<with>\s[^<>]{{0,2000}})?/?>"
    r"|&(?P<sign>#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});",
    re.IGNORECASE | re.DOTALL,
)
"""Code of Markdown, which stays, tags of known elements, and references to a character."""
_ADDRESS: Final = lazy_pattern(
    r"\b(?:src|href)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE
)
_BREAK: Final = lazy_pattern(r"(?<![ \t])[ \t]*\n\s*")
_BREAKS: Final = frozenset({"br", "hr", *_BLOCK.replace("h[1-6]", "h1|h2|h3|h4|h5|h6").split("|")})
_SIGNS: Final = (
    *(f"<{tag}" for tag in _VOID),
    *(f"</{tag}>" for tag in (*_BREAKS - {*_VOID}, *_INLINE.split("|"))),
)
"""One of these is in a text with tags."""
_SIDES: Final = frozenset(" \"'()`")
_EDGES: Final = _SIDES.union((".", ",", ":", ";", "!", "?", ""))


def without_html(text: str) -> str:
    """Returns a text without the tags of HTML and with the characters that references stand for.

    The addresses of links and pictures stay. A tag counts where its element is closed again, or is
    one that never is; one between spaces is talked about (`use <br> here`), and stays.
    """
    tags = "<" in text and any(tag in text.lower() for tag in _SIGNS)
    if not tags and ("&" not in text or ";" not in text[text.index("&") :]):
        return text
    matches = list(_HTML.finditer(text))
    opened = Counter(m["tag"].lower() for m in matches if m["tag"] and not m["ends"])
    closed = Counter(m["tag"].lower() for m in matches if m["ends"])
    paired = {tag for tag in opened if opened[tag] == closed[tag] or tag in _VOID}
    plain = _HTML.sub(lambda match: _without_tag(match, paired), text)
    return plain if plain == text else _BREAK.sub("\n", plain).strip()


def _without_tag(match: re.Match[str], paired: AbstractSet[str]) -> str:
    """Returns what stands for a tag, a reference or code in a text without HTML."""
    text, start, end = match.string, *match.span()
    around = text[start - 1 : start], text[end : end + 1]
    if match["sign"]:
        sign = html.unescape(match.group())
        unseen = sign.isspace() or not sign.isprintable()
        return match.group() if unseen and _EDGES.issuperset(around) else sign
    tag = (match["tag"] or "").lower()
    if not tag or _SIDES.issuperset(around) or tag not in paired:
        return match.group()
    address = None if match["ends"] else _ADDRESS.search(match["with"] or "")
    said = f" {next(filter(None, address.groups()), '')} " if address else ""
    if tag == "sup" and not match["ends"]:
        return "^"
    return f"\n{said}" if tag in _BREAKS else said


def undress(text: str) -> str:
    """Removes Markdown marks: headings, quote marks, bullets, emphasis, code marks.

    Kept, because they carry meaning: check boxes, strikethrough, underscores (`__init__`,
    `_private`), numbered lists, everything inside code spans, and `-`, `+` or `>` before a number.
    A code span is one or two backticks on one line around up to 2,000 characters, which keeps the
    work linear in the length of the text. Of HTML, see `without_html`. Of a DOI one spelling is
    left: `doi:10.…`, as the DOI Handbook writes it, for an address too.
    """
    text = without_html(text)
    return _without_marks(_DOI.sub("doi:", text) if _may_hold_doi(text) else text)


def _without_marks(text: str) -> str:
    """Returns a text without marks of Markdown, see `undress`."""
    if "```" in text:
        text = _FENCE.sub("", text)
    if "#" in text or ">" in text:
        text = _HEADING.sub("", text)
    text = _BULLET.sub("", text)
    if "*" in text:
        text = _STRONG.sub(r"\2", text)
    return _CODE_SPAN.sub(r"\2", text) if "`" in text else text


def struck(text: str) -> tuple[str, str]:
    """Returns what a text says without the words that are struck out, and those words.

    Both are the same, without the marks, where nothing else is left. Read are `~~x~~` and `~x y~`
    (spec of GitHub Flavored Markdown, 6.5), `<del>`, `<s>`, `<strike>`; none in code spans.
    """
    spans = _struck_spans(text) if "~" in text or "</" in text else []
    if not spans:
        return text, ""
    edges = [0, *(edge for start, end, _ in spans for edge in (start, end)), len(text)]
    outside = [text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]
    inside = [words for _, _, words in spans]
    left = "".join(outside)
    if _LETTER.search(BOX.sub("", left)):
        return left, "\n".join(inside)
    plain = "".join(part for pair in zip(outside, [*inside, ""], strict=True) for part in pair)
    return plain, plain


def _struck_spans(text: str) -> list[tuple[int, int, str]]:
    """Returns start, end and words of what is struck out, in order; in one pass."""
    spans: list[tuple[int, int, str]] = []
    opened, mark = -1, ""
    for match in _STRIKE.finditer(text):
        sign = (match["tag"] or match["two"] or match["one"] or "").casefold()
        start, end = match.span()
        if opened < 0:
            if sign and not match["ends"] and (match["tag"] or not text[end : end + 1].isspace()):
                opened, mark, begins = end, sign, start
        elif not sign:
            if text[start] == "\n" and mark.startswith("~"):
                opened = -1  # no emphasis goes across a blank line
        elif sign == mark and _closes(text, opened, match):
            spans.append((begins, end, text[opened:start]))
            opened = -1
    return spans


def _closes(text: str, opened: int, match: re.Match[str]) -> bool:
    """Returns whether a mark ends the words behind an opened one; in `~` there are two at least."""
    start = match.start()
    if match["tag"]:
        return bool(match["ends"])
    words = start > opened and not text[start - 1].isspace()
    return words and (bool(match["two"]) or text.find(" ", opened, start) >= 0)


def retired(text: str) -> str:
    """Returns why a note is not in force any more, by its own marks; empty where it is.

    It is `struck out` as a whole, or the box it begins with says `done` or `cancelled`.
    """
    if "[" not in text and "~" not in text and "</" not in text:
        return ""
    plain, gone = struck(text)
    if gone == plain and gone:
        return "struck out"
    mark = _LIST_MARK.match(plain.lstrip())
    box = BOX.match(plain.lstrip()[mark.end() if mark else 0 :])
    state = BOXES.get(box["inside"], "") if box else ""
    return state if state in {"done", "cancelled"} else ""


_DOI: Final = lazy_pattern(
    r"(?:\bdoi:\s*)?\b(?:https?://)?(?:dx\.)?doi\.org/(?=10\.)|\bdoi:?\s*(?=10\.\d)", re.IGNORECASE
)


def _may_hold_doi(text: str) -> bool:
    return "10." in text and "doi" in text.lower()


_DRESSED_START: Final = lazy_pattern(r"^[ \t]*[#>+-]", re.MULTILINE)


def _is_bare(text: str) -> bool:
    """Returns whether a text is ASCII without Markdown marks."""
    if not text.isascii() or "`" in text or "*" in text or "<" in text or "&" in text:
        return False
    if _may_hold_doi(text):
        return False
    if "\n" in text:
        return _DRESSED_START.search(text) is None
    return text.lstrip(" \t")[:1] not in {"#", ">", "+", "-"}


@lru_cache(maxsize=65_536)
def normalise(text: str, *, fold_case: bool = False, html_too: bool = True) -> str:
    """Returns one form for texts that differ in marks, quotes and white space only.

    Steps: Markdown marks removed, Unicode NFKC (exponents become `^n` first, since NFKC would turn
    `10²` into `102`, and fractions get a space before them), invisible characters removed,
    typographic quotes and hyphens made plain, white space collapsed, quotes around the whole text
    and one sentence-ending full stop dropped.

    Args:
        text: Any text.
        fold_case: Also fold case (`str.casefold`). `TLS` and `tls` can be different things, so
            callers try without first.
        html_too: Whether tags and references of HTML are taken off; ids of units are older.

    Returns:
        The normal form; empty if nothing is left.
    """
    if _is_bare(text):  # the same form in a tenth of the time: most texts of most stores
        text = _strip_frame(" ".join(text.split()))
        return text.lower() if fold_case else text
    return _dressed(undress(text) if html_too else _without_marks(text), fold_case=fold_case)


def _dressed(text: str, *, fold_case: bool) -> str:
    """Returns the result of `normalise` for a text without marks, by all its other steps."""
    if text.isascii():  # of all that follows only this changes ASCII
        text = _strip_frame(_SPACE.sub(" ", text.replace("`", "'")).strip())
        return text.casefold() if fold_case else text
    text = _SUPERSCRIPT.sub(lambda m: "^" + unicodedata.normalize("NFKC", m.group(1)), text)
    text = _FRACTION.sub(lambda m: (m.group(1) + " " if m.group(1) else "") + m.group(2), text)
    text = unicodedata.normalize("NFKC", text.translate(_QUOTES))
    text = _INVISIBLE.sub("", text).translate(_QUOTES)
    text = _SPACE.sub(" ", text).strip()
    text = _strip_frame(text)
    return unicodedata.normalize("NFKC", text.casefold()) if fold_case else text


def _strip_frame(text: str) -> str:
    previous = None
    while text != previous:
        previous = text
        if len(text) > 2 and text[0] in "\"'" and text[0] == text[-1] and text[0] not in text[1:-1]:
            text = text[1:-1].strip()
        end = len(text)  # by place: to cut off one of many full stops copies the rest each time
        while text.endswith((".", "。"), 0, end) and not text.endswith("..", 0, end):
            end -= 1
            while end and text[end - 1].isspace():
                end -= 1
        text = text[:end]
    return text


def has_unspaced_script(text: str) -> bool:
    """Returns whether some of the text is in a script written without spaces."""
    return _UNSPACED_RUN.search(text) is not None


def words(text: str) -> tuple[str, ...]:
    """Returns case-folded words of a normalised text; bigrams for scripts without spaces.

    Bigrams are the usual replacement for words where there are no spaces (Lucene's CJKAnalyzer does
    the same).
    """
    form = normalise(text, fold_case=True)
    if form.isascii():
        return tuple(_WORD.findall(form))
    parts: list[str] = []
    for match in _WORD.finditer(form):
        word, end = match.group(), 0
        for run in _UNSPACED_RUN.finditer(word):
            if run.start() > end:
                parts.append(word[end : run.start()])
            signs = run.group()
            parts += [signs[at : at + 2] for at in range(len(signs) - 1)] or [signs]
            end = run.end()
        if end < len(word):
            parts.append(word[end:])
    return tuple(parts)


def char_ngrams(text: str, n: int = 3) -> tuple[str, ...]:
    """Returns character n-grams of the case-folded normal form, with a space at both ends.

    Scripts without spaces carry more in a character: for a text written mostly in one, n is
    reduced to 2.

    Args:
        text: Any text.
        n: Length, at least 2.

    Returns:
        All n-grams in order, with repeats. Empty for an empty text.
    """
    padded, n = padded_for_ngrams(text, n)
    return tuple(padded[i : i + n] for i in range(max(1, len(padded) - n + 1))) if padded else ()


def padded_for_ngrams(text: str, n: int = 3) -> tuple[str, int]:
    """Returns the text that `char_ngrams` cuts, and the length of its pieces.

    Returns:
        The case-folded normal form with one space at both ends, and n or 2; empty for an empty one.
    """
    flat = normalise(text, fold_case=True)
    if not flat:
        return "", n
    dense = 0 if flat.isascii() else sum(len(run) for run in _UNSPACED_RUN.findall(flat))
    return f" {flat} ", 2 if 2 * dense > len(flat) else n


def content_key(text: str) -> str:
    """Returns SHA-256 of the UTF-8 bytes, 64 hexadecimal digits: the key of a text in caches."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def token_estimate(text: str) -> int:
    """Returns an estimate of the language-model tokens of a text.

    Four characters a token for alphabets, one for scripts without spaces: the rule of thumb of
    OpenAI's tokenizer documentation, and the usual figure for CJK. An estimate for reports only.
    """
    dense = sum(run.end() - run.start() for run in _UNSPACED_RUN.finditer(text))
    return dense + (len(text) - dense + 3) // 4


_LOOSE_SPACE: Final = lazy_pattern(
    "[\t\n\x0b\x0c\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+"
)
"""White space as ECMAScript has it: without U+0085, with the byte order mark."""

_STRAIGHT_QUOTES: Final = str.maketrans("", "", "'\"")


@lru_cache(maxsize=65_536)
def loose(text: str) -> str:
    """Returns a form in which some systems call two texts equal: no case, quotes and gaps.

    Lower-case, `'` and `"` deleted, runs of white space made one space, trimmed. Nothing else is
    taken off. Source: the recall contract.
    """
    return _LOOSE_SPACE.sub(" ", text.lower().translate(_STRAIGHT_QUOTES)).strip(" ")


def utf16_length(text: str) -> int:
    """Returns the length in UTF-16 code units, as JavaScript counts it: an emoji is two."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


_TRAILING_NUMBER: Final = lazy_pattern(r"(\d{1,18})\Z")


def numbered(id_: str) -> tuple[str, int, str]:
    """Returns a key that sorts ids by the number at their end: `m#9` before `m#10`."""
    match = _TRAILING_NUMBER.search(id_)
    return (id_[: match.start()], int(match[1]), id_) if match else (id_, -1, id_)


_T = TypeVar("_T")
_MOST: Final = 1_500_000
"""Characters of the texts in one generation: facts take some 150 bytes a character."""


class ByText(Generic[_T]):
    """A function of one text with a cache of its results.

    Results are kept in two generations. What is asked for again moves into the younger one; when
    that is full the elder goes. So a text is forgotten only after as much as `_MOST` of others, and
    a few long texts take no more memory than many short ones.
    """

    def __init__(self, read: Callable[[str], _T], most: int = _MOST) -> None:
        """Puts a memory before a function.

        Args:
            read: Depends on nothing but the text.
            most: Characters in one generation.
        """
        self._read = read
        self._most = most
        self._room = most
        self._young: dict[str, _T] = {}
        self._elder: dict[str, _T] = {}

    def __call__(self, text: str) -> _T:
        """Returns the result for a text."""
        result = self._young.get(text)
        if result is not None:
            return result
        result = self._elder.get(text)
        if result is None:
            result = self._read(text)
        if self._room < 0:
            self._young, self._elder = {}, self._young
            self._room = self._most
        self._room -= len(text)
        self._young[text] = result
        return result

    def forget(self) -> None:
        """Begins anew."""
        self._young, self._elder, self._room = {}, {}, self._most


# ------------------------------------------------------------------ what a reader sees

# A memory is foreign text. Control and direction characters change what is shown; zero-width and
# tag characters show nothing, and a model reads them all the same (Unicode Technical Report 36).
_STEERING: Final = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_BREAKING: Final = "\u2028\u2029\ud800-\udfff"
_HIDDEN: Final = (
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufffb\U000e0000-\U000e0fff"
)
_JOINER: Final = r"(?<![^\x00-\x7f\s])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f\s])"
"""Zero-width joiners but for those between two characters beyond ASCII, as in emoji and in Persian
or Indic words."""
_SELECTOR: Final = r"(?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f]"
"""Variation selectors after the first: a run of them can carry hidden bytes."""

_UNSAFE: Final = lazy_pattern(f"[{_STEERING}{_BREAKING}{_HIDDEN}]|{_JOINER}|{_SELECTOR}")

_MARKUP: Final = lazy_pattern(r"([\\`*_{}\[\]<>#|~]|&(?=#?\w+;))")


def visible(text: str) -> str:
    r"""Returns a text with escapes for hidden characters and those that control a terminal.

    Line feeds and tabs stay. Emoji sequences stay whole.

    Args:
        text: Any text, lone surrogates included.
    """
    return _UNSAFE.sub(_escape, text)


def escapes(text: str) -> Iterator[tuple[int, str]]:
    r"""Yields the offset and the escape of each character that `visible` replaces.

    For a page that shows an escape in another style than the words around it.

    Args:
        text: Any text, lone surrogates included.
    """
    for match in _UNSAFE.finditer(text):
        yield match.start(), _escape(match)


def on_one_line(text: str) -> str:
    r"""Returns a text as `visible` does, with line feeds and tabs as `\n` and `\t`.

    An id or a name with a line feed would else write a line of its own into a report.

    Args:
        text: Any text.
    """
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def escaped_markdown(text: str) -> str:
    """Returns a text in which no character means something to Markdown or HTML; lines stay.

    Args:
        text: Any text; make it `visible` or `on_one_line` first.
    """
    return _MARKUP.sub(r"\\\1", text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


# ------------------------------------------------------------------ counted words


def number(value: int) -> str:
    """Returns a number with thousands separators."""
    return f"{value:,}"


def percent(share: float) -> str:
    """Returns a share as a percentage with one decimal place."""
    return f"{share * 100:.1f}%"


def count(amount: int, one: str, many: str | None = None) -> str:
    """Returns an amount with a noun, such as `1 group` or `2 groups`."""
    return f"{number(amount)} {one if amount == 1 else many or one + 's'}"
