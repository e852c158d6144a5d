"""Facts of one text: typed tokens and signs, extracted once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cache, wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from echoless.core.text import ByText, lazy_pattern, normalise, undress, without_html
from echoless.core.timestamps import instant
from echoless.matching.facts.note_wrappers import unframe
from echoless.matching.facts.word_classes import Reader
from echoless.matching.languages import WORDS, Lexicon, fold, is_marked, language_of, lexicon
from echoless.matching.values.patterns import LINE
from echoless.matching.values.relative_dates import anchored_tokens, days_elsewhere, is_relative
from echoless.matching.values.scanner import scan
from echoless.matching.values.spelled import spell
from echoless.matching.values.tokens import Kind, Token, Value, Weekday, Year

MAX_LENGTH: Final = 20_000
"""Characters looked at. What is longer is capped and never merged unless the texts are equal."""

MAX_CODE_MARKS: Final = 1_000
"""Finding code spans is quadratic in the number of back quotes; beyond this they are left alone."""

_CODE: Final = lazy_pattern(r"`([^`\n]{1,80})`")
_HIDDEN: Final = lazy_pattern("(?<=\\w)[\u200b\u2060](?=.)|[\u202a-\u202e\u2066-\u2069]")
_NAMES: Final = lazy_pattern(r"(?:(?<!^)(?<![.!?] )|(?=N[eu]))\b[^\WA-Z]*[A-Z]\w+(?: [A-Z]\w+)+")
"""Names of several words. The first word of a text or sentence is part of none, unless it begins
with Ne or Nu (`New York`)."""
_ENUMERATOR: Final = lazy_pattern(r"^[ \t]*\d{1,2}[.)][ \t]+", re.MULTILINE)
_RULE: Final = lazy_pattern(r"^[ \t|:=+-]{3,}$", re.MULTILINE)

_EPOCH: Final = date(1970, 1, 1)
_DAY: Final = 86_400_000_000_000
_FIRST_DAY: Final = (date(1, 1, 10) - _EPOCH).days
_LAST_DAY: Final = (date(9990, 1, 1) - _EPOCH).days
"""Days that still have neighbours in the calendar of Python."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts of one text: its tokens, and signs of its language, time and state.

    Attributes:
        normal: Normal form, case kept.
        body: The same without Markdown and without what a note-taking program wraps around it.
        hidden: Characters that nobody sees and that change what is read.
        language: Whose lexicon was used.
        tokens: All tokens that carry meaning, in order.
        counts: How often each value occurs.
        trailing: Function words after the last token.
        stamps: Capture times that stood in a frame around the text.
        stative: The text states what is, not what happened.
        update: It says that something is new or has changed.
        outdated: The text says that a state is past, without a word of change.
        stage: 0 planned, 1 under way, 2 done; None where it does not say.
        capped: Only the first `MAX_LENGTH` characters were looked at.
        derived: Results that functions read out of these facts, by name, see `remembered`.
    """

    normal: str
    body: str
    hidden: tuple[str, ...]
    language: str
    tokens: tuple[Token, ...]
    counts: Mapping[Value, int]
    trailing: tuple[str, ...]
    stamps: tuple[str, ...]
    stative: bool
    update: bool
    outdated: bool
    stage: int | None
    capped: bool
    derived: dict[object, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def relative(self) -> bool:
        """Checks whether the text tells a day from where its writer stands (`tomorrow`)."""
        return _is_relative(self)

    @property
    def lexicon(self) -> Lexicon:
        """Returns the words of its language."""
        return lexicon(self.language)


_T = TypeVar("_T")
_P = ParamSpec("_P")


def remembered(read: Callable[Concatenate[Facts, _P], _T]) -> Callable[Concatenate[Facts, _P], _T]:
    """Caches the results of a function of facts, and of more, for the lifetime of the facts."""
    name = f"{read.__module__}.{read.__qualname__}"

    @wraps(read)
    def once(facts: Facts, /, *more: _P.args, **none: _P.kwargs) -> _T:
        key, cache = (name, *more) if more else name, facts.derived
        if key not in cache:
            cache[key] = read(facts, *more, **none)
        value: _T = cache[key]
        return value

    return once


@remembered
def _is_relative(facts: Facts) -> bool:
    if is_relative(facts.tokens, facts.language):
        return True
    # the words of some seventy languages are read where none of English or German is there
    return not is_marked(facts.body) and bool(days_elsewhere(facts.body, _EPOCH))


@ByText
def facts_of(text: str) -> Facts:
    """Takes the facts out of a text.

    Args:
        text: Any text; more than `MAX_LENGTH` characters are cut off.
    """
    text = without_html(text)
    quoted = text.count("`") > MAX_CODE_MARKS
    capped = quoted or len(text) > MAX_LENGTH
    head = text[:MAX_LENGTH].replace("`", " ") if quoted else text[:MAX_LENGTH]
    lines = _without_line_marks(head)
    lex = lexicon(language_of(head))
    normal = normalise(text)
    plain = lines == text and "\n" not in text
    flat = normal if plain else normalise(undress(lines).replace("\n", f" {LINE} "))
    capped = capped or len(flat) > MAX_LENGTH  # NFKC makes 18 characters of some
    body, stamps, _ = unframe(flat[:MAX_LENGTH], lex)
    spans = _CODE.findall(head) if "`" in head else ()
    coded = frozenset(w for span in spans for w in WORDS.findall(span))
    reader = Reader(lex, coded)
    tokens = tuple(reader.read(spell(scan(body, lex), lex)))
    low = _NAMES.sub(" ", body).casefold()  # `New York` is nothing new
    spoken = [w if w.isascii() else fold(w, lex.language) for w in WORDS.findall(low)]
    words = set(spoken)
    update = _has(words, low, "update", lex)
    return Facts(
        normal=text if quoted else normal,
        body=body,
        hidden=() if head.isascii() else tuple(_HIDDEN.findall(head)),
        language=lex.language,
        tokens=tokens,
        counts=_counts(tokens),
        trailing=reader.trailing,
        stamps=stamps,
        stative=_stative(spoken, lex),
        update=update,
        outdated=not update and _has(words, low, "outdated", lex),
        stage=_stage(words, body, lex),
        capped=capped,
    )


def _without_line_marks(text: str) -> str:
    """Returns a text without rules of tables and without the numbers of lists.

    Both stand at the beginning of a line. To look for one at each character of a single line takes
    a third of the time of all facts.
    """
    if "\n" not in text and not _RULE.match(text) and not _ENUMERATOR.match(text):
        return text
    return _ENUMERATOR.sub("", _RULE.sub("", text))


def day_of(created_at: str | None) -> int | None:
    """Returns the day in UTC of a text, counted from 1970; None where no calendar has it."""
    moment = instant(created_at)
    days = None if moment is None else moment // _DAY
    return days if days is not None and _FIRST_DAY <= days <= _LAST_DAY else None


def anchored(facts: Facts, created_at: str | None, *, beside: Facts | None = None) -> Facts:
    """Returns the same facts with relative days (`tomorrow`, `last Monday`) made absolute.

    Args:
        facts: Of one text.
        created_at: When it was written; None or unreadable leaves the facts as they are. The day
            is the one in UTC.
        beside: Facts it will be compared with: the year and the day of the week are only said if
            they are said there. Without it the year is said.
    """
    days = day_of(created_at)
    if days is None:
        return facts
    day = _EPOCH + timedelta(days=days)
    said = {type(value) for value in beside.counts} if beside is not None else {Year}
    tokens = anchored_tokens(
        facts.tokens, facts.language, day, year=Year in said, weekday=Weekday in said
    )
    if tokens == facts.tokens and facts.relative:
        named = enumerate(days_elsewhere(facts.body, day), len(tokens))
        tokens += tuple(
            Token(Kind.DATE, value, text, place=place) for place, (text, value) in named
        )
    if tokens == facts.tokens:
        return facts
    return replace(facts, tokens=tokens, counts=_counts(tokens), derived={})


def _counts(tokens: tuple[Token, ...]) -> dict[Value, int]:
    """Returns a plain dict: two Counters are compared a hundred times more slowly."""
    return dict(Counter(token.value for token in tokens))


def _stative(spoken: list[str], lex: Lexicon) -> bool:
    """Returns the first verb says what is (`likes`), not what happened (`deployed`)."""
    for word in spoken:
        if word in lex.sets["stative"]:
            return True
        if word.endswith("ed") or word in {"was", "were", "wurde", "hat"}:
            return False
    return lex.language == "ja"


def _has(words: set[str], low: str, name: str, lex: Lexicon) -> bool:
    """Returns whether a word or phrase of a list is there."""
    entries = lex.sets[name]
    inside = entries if lex.language == "ja" else _inside(name, lex)
    return bool(words & entries) or any(entry in low for entry in inside)


@cache
def _inside(name: str, lex: Lexicon) -> tuple[str, ...]:
    """Returns the entries that are no word between spaces: phrases, and Chinese."""
    return tuple(sorted(entry for entry in lex.sets[name] if not entry.isascii() or " " in entry))


def _stage(words: set[str], body: str, lex: Lexicon) -> int | None:
    if lex.language == "ja":
        stages = [index for word, index in lex.stage.items() if word in body]
    else:
        stages = [lex.stage[word] for word in words if word in lex.stage]
    return max(stages, default=None)


_PARTING: Final = lazy_pattern(
    r"(?<![.,;:!…])[.,;:!…]+(?=\s|$)|(?<!\d)[\"'“”„«»‘’「」『』]|[。、，；：！・–—]|(?<=\w)[’'](?=\w)"
)
"""Signs that only part sentences and phrases, or quote them."""
_PLAIN: Final = lazy_pattern(r"[\w\s]+")
_START: Final = lazy_pattern(r"(?:^|[.!?:。|\n])[\s\"'(*_`-]*[^\W\d_]+")


@remembered
def signs(facts: Facts) -> tuple[tuple[int, str], ...]:
    """Returns the signs that may mean something, each with the number of tokens before it.

    Signs inside a token are read with it: `15:00`, `-3 °C`, `src/a.py`.
    """
    left = _PARTING.sub(" ", undress(facts.body))
    placed: list[tuple[int, str]] = []
    at = 0
    for place, token in enumerate(facts.tokens):
        start = left.find(token.text, at)
        if start >= 0:
            placed.extend((place, sign) for sign in _PLAIN.sub("", left[at:start]))
            at = start + len(token.text)
    placed.extend((len(facts.tokens), sign) for sign in _PLAIN.sub("", left[at:]))
    return tuple(placed)


@remembered
def capitals(facts: Facts) -> frozenset[str]:
    """Returns the words with a capital, as written; the first word of a sentence is left out."""
    starts = {match.end() for match in _START.finditer(facts.body)}
    matches = (each for each in WORDS.finditer(facts.body) if each.end() not in starts)
    return frozenset(each.group() for each in matches if not each.group().islower())


@remembered
def words(facts: Facts) -> frozenset[str]:
    """Returns the words of a text as written."""
    return frozenset(WORDS.findall(facts.body))


def has_case(facts: Facts) -> bool:
    """Returns whether capitals tell anything: not in small letters, in capitals, in a title."""
    title = len(words(facts)) > 1 and all(word.istitle() for word in words(facts))
    return not (facts.body.islower() or facts.body.isupper() or title)


_POINTING: Final = frozenset(
    {"his", "her", "hers", "its", "their", "my", "your", "our", "sein", "seine", "ihr", "ihre"}
)
"""Words that stand like an article and say whose."""
_CASES: Final = frozenset({"den", "dem", "des", "einen", "einem", "eines"})
"""German articles that say who does what to whom."""
_HELPING: Final = frozenset({"do", "does", "did"})


@cache
def silent(lex: Lexicon) -> frozenset[str]:
    """Returns the function words of a language that say nothing: articles, `does`."""
    return (lex.sets["articles"] | _HELPING) - lex.persons.keys() - _POINTING - _CASES


@remembered
def small_words(facts: Facts) -> tuple[tuple[str, ...], ...]:
    """Returns the function words before each token and at the end: `to`, `from`, `was`, `his`.

    Articles say nothing and are left out.
    """
    still = silent(facts.lexicon)
    said = (*(token.glue.split() for token in facts.tokens), facts.trailing)
    return tuple(tuple(word for word in some if word not in still) for some in said)


@remembered
def past(facts: Facts) -> frozenset[str]:
    """Returns the English words of a text that are written as done."""
    if facts.language != "en":
        return frozenset()
    words = (t.text.casefold() for t in facts.tokens if t.kind is Kind.WORD)
    return frozenset(word for word in words if word.endswith("ed"))
