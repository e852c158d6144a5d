"""What two texts differ in though their words agree: symbols, questions, persons, hidden signs.

The tokens of `facts.py` are words and values. Before anything is merged on their strength, this
module looks at what stands between them. It only ever holds back; it never merges.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeAlias

from echoless.judge.language import LANGUAGES, every, lexicon
from echoless.judge.signs import (
    arguments,
    being,
    boxes,
    comparisons,
    faces,
    instead,
    joints,
    lengths,
    moments,
    powers,
    rates,
    rows,
    spans,
    states,
    structure,
)
from echoless.model import Difference, DifferenceKind, Side

_QUANTITY: Final = re.compile(r"[$€£¥]\s?(?=\d)|(?<=\d)\s?[€$£¥%°]+|(?<=\d)\+(?=\d)")
_DRESSING: Final = re.compile(r"^[ \t]*(?:[#>]+|[-*+])[ \t]|\*\*|__|`|^[ \t:|-]+$", re.MULTILINE)
_PLAIN: Final = {
    **dict.fromkeys(("→", "⇒", "=>"), "->"),
    "←": "<-",
    "−": "-",
    "×": "x",
    "✔": "✓",
    "☑": "✓",
}
_JOINED: Final = re.compile(
    r"!\w+|&&|\|\||\+\+|--(?=\W|$)|[!=<>]=|->|<-|\][+*?]|[+*&$!~^](?=\w)|(?<=\w)[+#](?!\w)"
    r"|\b[A-Z][+-](?![\w-])|(?<=\w )[+*/^<>](?= \w)|(?:[\d*/,-]{1,40} ){4}[\d*/,-]{1,40}"
    r"|(?<=\w)\^+(?!\w)|\[\^?(?:[a-z]-[a-z]|[A-Z]-[A-Z]|\d-\d[^\]\s])[^\]\s]*\][+*?]?"
    r"|\[-?\d*:-?\d*\]|\(\?[a-z]+\)"
)
_MAY_HAVE_SIGNS: Final = re.compile(r"[-+*/^=<>!|&$~#\[\](%_`]|[\d,] [\d,]|\w\.\.")
"""Without one of these in ASCII none of the patterns of signs finds anything."""
_SQUARED: Final = re.compile(r"(?<=[A-Za-z])\^(?=[23](?!\w))")
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
    r"([\u3400-\u9fff\u30a0-\u30ffA-Za-z0-9]{1,40}(?:さん|様|氏|君|ちゃん)?)([がはをにもへ])"
    r"(?=[\u3400-\u9fff\u30a0-\u30ffA-Za-z0-9、])"
)
_PAST_JA: Final = re.compile(r"(?:た|だ)[。．.!！]?\s*$")
_HERE: Final = re.compile(r"\b(?:above|below)\b(?=[,:;.])", re.IGNORECASE)
"""`The conversation above, …` points at a page, not at a value."""
_POLITE: Final = re.compile(r"(?<=[a-zäöüß,] )(?:Sie|Ihnen|Ihr|Ihre|Ihren|Ihrem|Ihrer)\b")


_Readings: TypeAlias = tuple[tuple[str, ...], ...]


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
    read_a, read_b = _read(a, language), _read(b, language)
    for (rule, kind, _), one, other in zip(_RULES, read_a, read_b, strict=True):
        if one == other:
            continue
        left, right = Counter(one), Counter(other)
        only_a, only_b = tuple((left - right).elements()), tuple((right - left).elements())
        lost = only_b if superset == "a" else only_a
        if superset is None or lost or rule in _TURNING:
            return rule, Difference(kind, only_a or one, only_b or other)
    if superset is not None and (back := _withdrawn(a, b, superset)):
        return back
    if (moved := _moved(a, b, whole=superset is None)) is not None:
        return moved
    if (opposed := _opposed(_turning(a), _turning(b))) is not None:
        return opposed
    if (found := _other_gender(a, b)) is not None:
        return found
    return _other_persons(a, b, language)


def turning_difference(a: str, b: str) -> tuple[str, Difference] | None:
    """The first thing that tells two texts apart however they are worded.

    Hidden characters, a question against a statement, emoji and ticks, `he` against `she`.
    """
    turning_a, turning_b = _turning(a), _turning(b)
    if turning_a == turning_b:
        return None
    for at, rule, kind in _TURNING_RULES:
        if turning_a[at] != turning_b[at]:
            return rule, Difference(kind, turning_a[at], turning_b[at])
    return _opposed(turning_a, turning_b) or _other_gender(a, b)


@lru_cache(maxsize=16_384)
def _placed(text: str) -> _Readings:
    """What only texts of the same words are asked for, and last what someone is and has."""
    return (*(read(text, "") for _, _, read in _PLACED), being(text, ""))


def _moved(a: str, b: str, *, whole: bool) -> tuple[str, Difference] | None:
    """What both texts have in other places, or say with other small words.

    Args:
        a: One text.
        b: The other.
        whole: Neither says more than the other.
    """
    (*placed_a, one), (*placed_b, other) = _placed(a), _placed(b)
    for (rule, kind, _), left, right in zip(_PLACED, placed_a, placed_b, strict=True):
        if left != right and ((whole and rule in _ONE_SIDED) or (left and right)):
            return rule, Difference(kind, left, right)
    nouns, others = ({each.rpartition(" ")[0] for each in side} for side in (one, other))
    if one != other and nouns == others:
        return "state-differs", Difference(DifferenceKind.MODALITY, one, other)
    return None


def _opposed(one: _Readings, other: _Readings) -> tuple[str, Difference] | None:
    """What both texts say in their way: signs, arguments, moments, comparisons."""
    for at, (rule, kind, _) in enumerate(_OPPOSED, start=len(_TURNING_RULES)):
        if one[at] and other[at] and one[at] != other[at]:
            return rule, Difference(kind, one[at], other[at])
    return None


@lru_cache(maxsize=16_384)
def _read(text: str, language: str) -> _Readings:
    """What each rule looks at in a text."""
    return tuple(read(text, language) for _, _, read in _RULES)


@lru_cache(maxsize=16_384)
def _turning(text: str) -> _Readings:
    """What `turning_difference` looks at in a text, whatever its language."""
    found = [read(text, "") for rule, _, read in _RULES if rule in _TURNING]
    return (*found, *(read(text, "") for _, _, read in _OPPOSED), _genders(text))


def _embedded(text: str, _language: str) -> tuple[str, ...]:
    """Words that make of a statement what someone asks, doubts or denies."""
    found = _EMBEDDING.intersection(_words(text))
    return tuple(sorted({*found, *(w for w in _EMBEDDING_JA if w in text)}))


_EMBEDDING: Final = frozenset(
    (
        *("whether", "denied", "denies", "deny", "doubts", "doubt", "suspects", "hopes"),
        *("unclear", "pretends", "imagine", "thinks", "bestreitet", "bezweifelt", "vermutet"),
        *("hofft", "unklar", "leugnet", "leugnete", "bestritt", "zweifelt"),
    )
)
_EMBEDDING_JA: Final = ("かどうか", "疑", "否定し", "噂")


def _final_particles(text: str, language: str) -> tuple[str, ...]:
    """`Zieht ein`, `zieht aus`; `moved in`, `checked out`: the verb is in its particle."""
    if language == "ja":
        return ()
    low = text.casefold()
    found = {m.group(1) for pattern in (_FINAL, _BEHIND) for m in pattern.finditer(low)}
    return tuple(sorted(found))


_FINAL: Final = re.compile(
    r"\b(in|out|up|down|on|off|away|ein|aus|an|ab|auf|zu|um|vor|weg|zurück|mit|nach)"
    r"(?=\s*(?:[.,;!?]|$|\b(?:but|and|or|because|since|unless|when|if|only|aber|und|oder|weil)\b))"
)
_BEHIND: Final = re.compile(
    r"\b[a-z]{2,}ed (out|up|down|off|away|in(?= (?:on|at|by|last|this|yesterday)\b))"
)


def _other_gender(a: str, b: str) -> tuple[str, Difference] | None:
    """`Mr Abernathy` is not `Mrs Abernathy`."""
    one, other = _genders(a), _genders(b)
    if one and other and set(one).isdisjoint(other):
        return "other-persons", Difference(DifferenceKind.NAME, one, other)
    return None


@lru_cache(maxsize=16_384)
def _genders(text: str) -> tuple[str, ...]:
    """Words that tell a man from a woman, by gender."""
    words = set(_words(text))
    return tuple(name for name, known in _GENDERS.items() if words & known)


_GENDERS: Final = {
    "he": frozenset(("he", "him", "his", "he's", "himself", "mr", "herr", "herrn", "ihn")),
    "she": frozenset(("she", "hers", "she's", "herself", "mrs", "ms", "miss", "frau")),
}


def _symbols(text: str, _language: str) -> tuple[str, ...]:
    """Signs that carry meaning, sorted: operators, grades, ratings, emoji, signs of numbers."""
    if text.isascii() and not _MAY_HAVE_SIGNS.search(text):
        return ()
    for sign, plain in _PLAIN.items() if not text.isascii() or "=>" in text else ():
        text = text.replace(sign, plain)
    text = _SQUARED.sub("", text) if "^" in text else text
    text = _DRESSING.sub(" ", _RULER.sub(" ", text))
    found = ["-" for _ in _MINUS.finditer(text)]
    text = _QUANTITY.sub("", text)
    found += [match.group() for match in _JOINED.finditer(text)]
    found += [match.group() for match in _BRACKETS.finditer(text)]
    found += [match.group() for match in _GROUPED.finditer(text)]
    if text.isascii():  # of its signs only this one is told below
        found += ["$"] * text.count("$")
        return tuple(sorted(found))
    kinds = ((sign, unicodedata.category(sign)) for sign in text)
    found += [s for s, kind in kinds if kind == "Sc" or (kind == "Sm" and s not in "=|<>~+-")]
    return tuple(sorted(found))


def _pictures(text: str, _language: str) -> tuple[str, ...]:
    """Emoji, ratings, ticks and crosses: on either side they say how the rest is meant."""
    if text.isascii():
        return ()
    found = [s for s in _QUANTITY.sub("", text) if unicodedata.category(s) == "So"]
    return tuple(sorted(s for s in found if s not in _SIGNS))


_SIGNS: Final = frozenset("℃℉№™®©°")
"""Category `So` too, but no pictures: what they say is in the value beside them."""


def _hidden(text: str, _language: str) -> tuple[str, ...]:
    if not _HIDDEN_INSIDE.search(text):
        return ()
    return tuple(f"U+{ord(sign):04X}" for sign in _INVISIBLE.findall(text))


def _questions(text: str, _language: str) -> tuple[str, ...]:
    if not _QUESTION.search(text):
        return ()
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
    return tuple(sorted(w for w in _words(_HERE.sub("", text)) if w in every("telling")))


def _capitals(text: str, language: str) -> tuple[str, ...]:
    """Small words in capitals (`IT`, `US`), and the German polite form inside a sentence."""
    if text.isupper():
        return ()
    words = _WORD.findall(text)
    found = [w for w in words if len(w) > 1 and w.isupper() and w.casefold() in every("small")]
    if language == "de":
        found += _POLITE.findall(text)
    return tuple(sorted(found))


def _twins(text: str, language: str) -> tuple[str, ...]:
    """German words that a dot or an ß tells apart."""
    if language not in {"de", "en"}:
        return ()
    return tuple(sorted(w for w in (m.lower() for m in _WORD.findall(text)) if w in every("twins")))


def _withdrawn(a: str, b: str, superset: Side) -> tuple[str, Difference] | None:
    """A larger text that takes back, or only quotes, what the smaller one states."""
    large, small = (a, b) if superset == "a" else (b, a)
    more = (Counter(_retracting(large)) - Counter(_retracting(small))).keys()
    unspaced = sorted(lexicon("ja").sets["retracting"])
    found = sorted(more) + [w for w in unspaced if w in large and w not in small]
    if not found:
        return None
    left, right = (tuple(found), ()) if superset == "a" else ((), tuple(found))
    return "taken-back", Difference(DifferenceKind.POLARITY, left, right)


@lru_cache(maxsize=16_384)
def _retracting(text: str) -> tuple[str, ...]:
    """Words that take back what is said."""
    known = lexicon("en").sets["retracting"] | lexicon("de").sets["retracting"]
    return tuple(word for word in _words(text) if word in known)


def _particles(text: str, language: str) -> tuple[str, ...]:
    """Which word of a Japanese sentence is subject, object or target; `は` and `が` are one."""
    if language != "ja":
        return ()
    found = _PARTICLE.findall(text)
    return tuple(sorted(word + particle for word, particle in found if particle not in "はが"))


def _past(text: str, language: str) -> tuple[str, ...]:
    return ("た",) if language == "ja" and _PAST_JA.search(text) else ()


def _words(text: str) -> list[str]:
    found = _WORD.findall(text)
    if text.isascii():
        return [word.lower() for word in found]
    return [word.casefold().replace("’", "'") for word in found]


def _other_persons(a: str, b: str, language: str) -> tuple[str, Difference] | None:
    """`He` against `she`, and `I told you` against `you told me`."""
    (left, one), (right, other) = _persons(a, language), _persons(b, language)
    exchanged = set(one) - set(other) and set(other) - set(one)
    turned = one != other and Counter(one) == Counter(other)
    if not (exchanged or turned):
        return None
    return "other-persons", Difference(DifferenceKind.NAME, left, right)


@lru_cache(maxsize=16_384)
def _persons(text: str, language: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The pronouns of a text, and the person of each."""
    known = lexicon(language).persons if language in LANGUAGES else {}
    words = tuple(word for word in _words(text) if word in known)
    return words, tuple(known[word] for word in words)


_Reader = Callable[[str, str], tuple[str, ...]]

_RULES: Final[tuple[tuple[str, DifferenceKind, _Reader], ...]] = (
    ("hidden-characters", DifferenceKind.DETAIL, _hidden),
    ("symbols-differ", DifferenceKind.DETAIL, _symbols),
    ("pictures-differ", DifferenceKind.POLARITY, _pictures),
    ("pictures-differ", DifferenceKind.POLARITY, faces),
    ("boxes-differ", DifferenceKind.POLARITY, boxes),
    ("power-differs", DifferenceKind.UNIT, powers),
    ("unit-differs", DifferenceKind.UNIT, lengths),
    ("question-or-statement", DifferenceKind.MODALITY, _questions),
    ("embedded", DifferenceKind.MODALITY, _embedded),
    ("particles-at-the-end", DifferenceKind.POLARITY, _final_particles),
    ("tables-differ", DifferenceKind.ORDER, _tables),
    ("numbered-order-differs", DifferenceKind.ORDER, _numbered),
    ("indentation-differs", DifferenceKind.ORDER, _indents),
    ("small-words-differ", DifferenceKind.DETAIL, _small_words),
    ("capitals-differ", DifferenceKind.NAME, _capitals),
    ("words-of-one-spelling", DifferenceKind.DETAIL, _twins),
    ("particles-differ", DifferenceKind.ORDER, _particles),
    ("tense-differs", DifferenceKind.MODALITY, _past),
)
_TURNING: Final = frozenset(
    {
        *("hidden-characters", "question-or-statement", "pictures-differ", "embedded"),
        "power-differs",
    }
)
_TURNING_RULES: Final = tuple(
    (at, rule, kind)
    for at, (rule, kind) in enumerate((r, k) for r, k, _ in _RULES if r in _TURNING)
)
_OPPOSED: Final[tuple[tuple[str, DifferenceKind, _Reader], ...]] = (
    ("symbols-differ", DifferenceKind.DETAIL, _symbols),
    ("arguments-differ", DifferenceKind.ORDER, arguments),
    ("signs-differ", DifferenceKind.DETAIL, joints),
    ("rate-differs", DifferenceKind.UNIT, rates),
    ("moment-differs", DifferenceKind.DATE, moments),
    ("comparison-differs", DifferenceKind.QUANTIFIER, comparisons),
)
_PLACED: Final[tuple[tuple[str, DifferenceKind, _Reader], ...]] = (
    ("sections-differ", DifferenceKind.ORDER, structure),
    ("rows-differ", DifferenceKind.ORDER, rows),
    ("span-differs", DifferenceKind.QUANTIFIER, spans),
    ("state-differs", DifferenceKind.MODALITY, states),
    ("role-differs", DifferenceKind.ORDER, instead),
)
_ONE_SIDED: Final = frozenset({"state-differs"})
"""Rules that hold back what one text says and the other does not."""
