"""What two texts differ in though their words agree: symbols, questions, persons, hidden signs.

The tokens of `facts.py` are words and values. Before anything is merged on their strength, this
module looks at what stands between them. It only ever holds back; it never merges.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final

from echoless.model import Difference, DifferenceKind, Side

_QUANTITY: Final = re.compile(r"[$€£¥]\s?(?=\d)|(?<=\d)\s?[€$£¥%°]+|(?<=\d)\+(?=\d)")
_DRESSING: Final = re.compile(
    r"^[ \t]*(?:[#>]+|[-*+])[ \t]|\*\*|__|`|^[ \t]*\|?[ \t:|-]+\|?[ \t]*$", re.MULTILINE
)
_PLAIN: Final = {
    **dict.fromkeys(("→", "⇒", "=>"), "->"),
    "←": "<-",
    "−": "-",
    "×": "x",
    "✔": "✓",
    "☑": "✓",
}
_JOINED: Final = re.compile(
    r"&&|\|\||\+\+|--(?=\W|$)|[!=<>]=|->|<-|\][+*?]|[+*&$!~^](?=\w)|(?<=\w)[+#](?!\w)"
    r"|\b[A-Z][+-](?![\w-])|(?<=\w )[+*/^](?= \w)|(?:[\d*/,-]+ ){4}[\d*/,-]+"
)
_RULER: Final = re.compile(r"[-=_*]{3,}")
_MINUS: Final = re.compile(r"(?:(?<=\s)|^)[-–—−]\s?(?=[\d.]*\d)")
_BRACKETS: Final = re.compile(r"\[[^\[\]()\n]{0,60}\)|\([^\[\]()\n]{0,60}\]")
_GROUPED: Final = re.compile(r"\([^()\n]*[-+*/^][^()\n]*\)")
_HIDDEN_INSIDE: Final = re.compile("(?<=\\w)[\u200b\u2060](?=.)|[\u202a-\u202e\u2066-\u2069]")
_INVISIBLE: Final = re.compile("[\u200b\u2060\u202a-\u202e\u2066-\u2069]")
_QUESTION: Final = re.compile(r"[?？]")
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_TABLE_ROW: Final = re.compile(r"^[ \t]*\|(.+)\|[ \t]*$", re.MULTILINE)
_NUMBERED: Final = re.compile(r"^[ \t]*\d+[.)][ \t]+(.+)$", re.MULTILINE)
_PARTICLE: Final = re.compile(
    r"([\u3400-\u9fff\u30a0-\u30ffA-Za-z0-9]+(?:さん|様|氏|君|ちゃん)?)([がはをにもへ])"
    r"(?=[\u3400-\u9fff\u30a0-\u30ffA-Za-z0-9、])"
)
_PAST_JA: Final = re.compile(r"(?:た|だ)[。．.!！]?\s*$")

_PERSONS: Final = {
    "en": {
        **dict.fromkeys(("i", "me", "my", "mine", "i'm", "i've", "i'll"), "1"),
        **dict.fromkeys(("you", "your", "yours", "you're"), "2"),
        **dict.fromkeys(("he", "him", "his", "he's"), "3m"),
        **dict.fromkeys(("she", "her", "hers", "she's"), "3f"),
        **dict.fromkeys(("we", "us", "our", "ours", "we're"), "4"),
    },
    "de": {
        **dict.fromkeys(("ich", "mich", "mir", "mein", "meine", "meinen", "meiner"), "1"),
        **dict.fromkeys(("du", "dich", "dir", "dein", "deine", "deinen", "deiner"), "2"),
        **dict.fromkeys(("er", "ihn", "ihm"), "3m"),
        "sie": "3f",
        **dict.fromkeys(("wir", "uns", "unser", "unsere"), "4"),
    },
}
_TELLING: Final = frozenset(
    (
        *("since", "until", "under", "over", "above", "below", "behind", "beside", "against"),
        *("without", "about", "around", "roughly", "approximately", "almost", "nearly", "circa"),
        *("seit", "bis", "unter", "über", "hinter", "neben", "gegen", "ohne", "etwa", "rund"),
        *("ca", "fast", "auf"),
    )
)
"""Small words that place a statement in time or space, or take its exactness away."""


_HERE: Final = re.compile(r"\b(?:above|below)\b(?=[,:;.])", re.IGNORECASE)
"""`The conversation above, …` points at a page, not at a value."""

_SMALL: Final = frozenset(
    ("us", "it", "is", "or", "who", "all", "am", "no", "so", "me", "we", "do")
)
_POLITE: Final = re.compile(r"(?<=[a-zäöüß,] )(?:Sie|Ihnen|Ihr|Ihre|Ihren|Ihrem|Ihrer)\b")
_TWINS: Final = frozenset(
    (
        *("masse", "maße", "massen", "maßen", "busse", "buße", "schon", "schön", "fordern"),
        *("fördern", "drucken", "drücken", "zahlen", "zählen", "konnte", "könnte", "konnten"),
        *("könnten", "wurde", "würde", "wurden", "würden", "musste", "müsste", "hatte", "hätte"),
        *("war", "wäre", "waren", "wären"),
    )
)
_RETRACTING: Final = frozenset(
    (
        *("kidding", "joke", "joking", "sarcasm", "sarcastic", "ironic", "disputes", "disputed"),
        *("disagrees", "said", "says", "claims", "claimed", "believes", "draft", "hypothesis"),
        *("hypothetical", "question", "dream", "rumour", "rumor", "allegedly", "supposedly"),
        *("counter", "anti", "bad", "wrong", "false", "mistake", "untrue", "unconfirmed", "myth"),
        *("scherz", "witz", "ironie", "gerücht", "angeblich", "entwurf", "hypothese", "frage"),
        *("traum", "falsch", "irrtum", "unwahr", "behauptet", "sagt", "sagte", "meint"),
        *("bestreitet", "unbestätigt", "gegenbeispiel"),
    )
)
_RETRACTING_JA: Final = (
    "冗談",
    "噂",
    "うわさ",
    "昔",
    "間違い",
    "誤り",
    "嘘",
    "草案",
    "仮説",
    "未確認",
)


def surface_difference(
    a: str, b: str, language: str, superset: Side | None = None
) -> tuple[str, Difference] | None:
    """The first thing that keeps two texts of the same words apart.

    Args:
        a: One text.
        b: The other.
        language: `en`, `de`, `ja` or another code; persons and particles are known of these.
        superset: The side that says more; what only that side has is then no difference, unless it
            can turn the whole statement (a question, hidden characters).

    Returns:
        Name of the rule and the difference, or None. Symmetric up to the sides.
    """
    for rule, kind, read in _RULES:
        one, other = read(a, language), read(b, language)
        if one == other:
            continue
        left, right = Counter(one), Counter(other)
        only_a, only_b = tuple((left - right).elements()), tuple((right - left).elements())
        lost = only_b if superset == "a" else only_a
        if superset is None or lost or rule in _TURNING:
            return rule, Difference(kind, only_a or one, only_b or other)
    if superset is not None and (back := _withdrawn(a, b, superset)):
        return back
    return _other_persons(a, b, language)


@lru_cache(maxsize=16_384)
def _symbols(text: str, _language: str) -> tuple[str, ...]:
    """Signs that carry meaning, sorted: operators, grades, ratings, emoji, signs of numbers."""
    for sign, plain in _PLAIN.items():
        text = text.replace(sign, plain)
    text = _DRESSING.sub(" ", _RULER.sub(" ", text))
    found = ["-" for _ in _MINUS.finditer(text)]
    text = _QUANTITY.sub("", text)
    found += [match.group() for match in _JOINED.finditer(text)]
    found += [match.group() for match in _BRACKETS.finditer(text)]
    found += [match.group() for match in _GROUPED.finditer(text)]
    kinds = ((sign, unicodedata.category(sign)) for sign in text)
    found += [s for s, kind in kinds if kind == "Sc" or (kind == "Sm" and s not in "=|<>~+-")]
    return tuple(sorted(found))


def _pictures(text: str, _language: str) -> tuple[str, ...]:
    """Emoji, ratings, ticks and crosses: on either side they say how the rest is meant."""
    return tuple(sorted(s for s in _QUANTITY.sub("", text) if unicodedata.category(s) == "So"))


def _hidden(text: str, _language: str) -> tuple[str, ...]:
    if not _HIDDEN_INSIDE.search(text):
        return ()
    return tuple(f"U+{ord(sign):04X}" for sign in _INVISIBLE.findall(text))


def _questions(text: str, _language: str) -> tuple[str, ...]:
    return ("?",) if _QUESTION.search(re.sub(r"\S*[?]\S+", "", text)) else ()


def _tables(text: str, _language: str) -> tuple[str, ...]:
    rows = [re.sub(r"\s+", " ", row).strip() for row in _TABLE_ROW.findall(text)]
    return tuple(row for row in rows if set(row) - set("-|: "))


def _numbered(text: str, _language: str) -> tuple[str, ...]:
    items = [item.casefold().strip(" .*`") for item in _NUMBERED.findall(text)]
    return tuple(items) if len(items) > 1 else ()


def _indents(text: str, _language: str) -> tuple[str, ...]:
    lines = [line for line in text.split("\n") if line.strip()]
    depths = [len(line) - len(line.lstrip()) for line in lines]
    if len(lines) < 2 or len(set(depths)) < 2:
        return ()
    steps = sorted(set(depths))
    return tuple(str(steps.index(depth)) for depth in depths)


def _small_words(text: str, _language: str) -> tuple[str, ...]:
    return tuple(sorted(w for w in _words(_HERE.sub("", text)) if w in _TELLING))


def _capitals(text: str, language: str) -> tuple[str, ...]:
    """Small words in capitals (`IT`, `US`), and the German polite form inside a sentence."""
    if text.isupper():
        return ()
    words = _WORD.findall(text)
    found = [w for w in words if len(w) > 1 and w.isupper() and w.casefold() in _SMALL]
    if language == "de":
        found += _POLITE.findall(text)
    return tuple(sorted(found))


def _twins(text: str, language: str) -> tuple[str, ...]:
    """German words that a dot or an ß tells apart."""
    if language not in {"de", "en"}:
        return ()
    return tuple(sorted(w for w in (m.lower() for m in _WORD.findall(text)) if w in _TWINS))


def _withdrawn(a: str, b: str, superset: Side) -> tuple[str, Difference] | None:
    """A larger text that takes back, or only quotes, what the smaller one states."""
    large, small = (a, b) if superset == "a" else (b, a)
    more = (Counter(_words(large)) - Counter(_words(small))).keys()
    found = sorted(more & _RETRACTING)
    found += [w for w in _RETRACTING_JA if w in large and w not in small]
    if not found:
        return None
    left, right = (tuple(found), ()) if superset == "a" else ((), tuple(found))
    return "taken-back", Difference(DifferenceKind.POLARITY, left, right)


def _particles(text: str, language: str) -> tuple[str, ...]:
    """Which word of a Japanese sentence is subject, object or target; `は` and `が` are one."""
    if language != "ja":
        return ()
    found = _PARTICLE.findall(text)
    return tuple(sorted(word + particle for word, particle in found if particle not in "はが"))


def _past(text: str, language: str) -> tuple[str, ...]:
    return ("た",) if language == "ja" and _PAST_JA.search(text) else ()


def _words(text: str) -> Iterator[str]:
    return (match.group().casefold().replace("’", "'") for match in _WORD.finditer(text))


def _other_persons(a: str, b: str, language: str) -> tuple[str, Difference] | None:
    """`He` against `she`, and `I told you` against `you told me`."""
    known = _PERSONS.get(language, {})
    one = tuple(known[w] for w in _words(a) if w in known)
    other = tuple(known[w] for w in _words(b) if w in known)
    exchanged = set(one) - set(other) and set(other) - set(one)
    turned = Counter(one) == Counter(other) and one != other
    if not (exchanged or turned):
        return None
    left = tuple(w for w in _words(a) if w in known)
    right = tuple(w for w in _words(b) if w in known)
    return "other-persons", Difference(DifferenceKind.NAME, left, right)


_Reader = Callable[[str, str], tuple[str, ...]]

_RULES: Final[tuple[tuple[str, DifferenceKind, _Reader], ...]] = (
    ("hidden-characters", DifferenceKind.DETAIL, _hidden),
    ("symbols-differ", DifferenceKind.DETAIL, _symbols),
    ("pictures-differ", DifferenceKind.POLARITY, _pictures),
    ("question-or-statement", DifferenceKind.MODALITY, _questions),
    ("tables-differ", DifferenceKind.ORDER, _tables),
    ("numbered-order-differs", DifferenceKind.ORDER, _numbered),
    ("indentation-differs", DifferenceKind.ORDER, _indents),
    ("small-words-differ", DifferenceKind.DETAIL, _small_words),
    ("capitals-differ", DifferenceKind.NAME, _capitals),
    ("words-of-one-spelling", DifferenceKind.DETAIL, _twins),
    ("particles-differ", DifferenceKind.ORDER, _particles),
    ("tense-differs", DifferenceKind.MODALITY, _past),
)
_TURNING: Final = frozenset({"hidden-characters", "question-or-statement", "pictures-differ"})
