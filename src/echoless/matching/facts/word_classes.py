"""Tell words apart: names, negations, quantifiers, duties, and what only holds together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Final, NamedTuple

from echoless.matching.languages import Lexicon, fold, lexicon, stem, units
from echoless.matching.values.tokens import (
    LINE,
    ClockTime,
    Kind,
    Month,
    Number,
    Ordinal,
    Raw,
    Token,
    Value,
    Weekday,
    WordClass,
)

_SENTENCE_ENDS: Final = frozenset(f".!?。:|{LINE}-–—=([【「")
_TITLES: Final = frozenset(
    {"herr", "herrn", "frau", "onkel", "tante", "dr", "prof", "mr", "mrs", "ms", "familie"}
)
_HONORIFICS: Final = ("さん", "くん", "ちゃん", "さま")


_BARE: Final = frozenset({"hour", "alone"})
_GLUE: Final = ("articles", "prepositions", "conjunctions", "function", "bland", "weak")


@cache
def _glue(lex: Lexicon) -> frozenset[str]:
    return frozenset().union(*(lex.sets[name] for name in _GLUE))


@cache
def _glue_letters(lex: Lexicon) -> frozenset[str]:
    return frozenset("".join(sorted(word)) for word in _glue(lex) if len(word) > 5)


class _Class(NamedTuple):
    """Class of a word, regardless of its context."""

    sort: str
    kind: Kind
    value: Value


def _time_of(written: str) -> ClockTime:
    """Returns the clock time of a lexicon entry such as `12:00`."""
    hour, _, minute = written.partition(":")
    return ClockTime(int(hour), int(minute))


@lru_cache(maxsize=65_536)
def _class_of(word: str, lex: Lexicon) -> _Class:
    """Returns the class of a word: `person` is one if it has a capital, `open` may be a name."""
    if word in lex.times:
        return _Class("closed", Kind.DATE, _time_of(lex.times[word]))
    if word in lex.negation:
        return _Class("closed", Kind.NEGATION, WordClass(lex.negation[word]))
    if word in lex.quantifiers:
        return _Class("person", Kind.QUANTIFIER, WordClass(lex.quantifiers[word]))
    if word in lex.modality:
        return _Class("person", Kind.MODALITY, WordClass(lex.modality[word]))
    if word in lex.ordinals:
        return _Class("closed", Kind.RELATION, Ordinal(lex.ordinals[word]))
    if lex.has("significant", word) and not lex.has("weak", word):
        return _Class("closed", Kind.RELATION, word)
    return _open_class(word, lex)


def _open_class(word: str, lex: Lexicon) -> _Class:
    unit = units().get(word) if len(word) > 3 else None
    # a long function word with letters exchanged (`becuase`) is one too
    slipped = len(word) > 5 and "".join(sorted(word)) in _glue_letters(lex)
    if slipped or word in _glue(lex):
        sort = "glue"
    elif lex.has("relative_days", word):
        return _Class("closed", Kind.DATE, word)
    elif unit is not None:
        return _Class("closed", Kind.UNIT, unit)
    else:
        sort = "open"
    kind = Kind.SCOPE if lex.has("scopes", word) else Kind.WORD
    return _Class(sort, kind, lex.synonyms.get(word) or stem(word, lex.language))


class _Sense(NamedTuple):
    """Meaning of a word in its context."""

    kind: Kind
    value: Value


@lru_cache(maxsize=65_536)
def _sense_of(word: str, text: str, lex: Lexicon, starts: bool, called: bool) -> _Sense | str:
    """Returns what a word means; the word itself if it only holds together.

    Args:
        word: Folded.
        text: As written.
        lex: Its language.
        starts: Whether it begins a sentence.
        called: Whether a title stands before it.
    """
    capital = text[0].isupper()
    if word in lex.weekdays and (len(word) > 4 or capital):
        return _Sense(Kind.DATE, Weekday(lex.weekdays[word]))
    if word in lex.months and capital and (len(word) > 3 or not starts):
        return _Sense(Kind.DATE, Month(lex.months[word]))
    sort, kind, value = _class_of(word, lex)
    if sort == "glue" and (text != "A" or starts):
        return word
    # `Max` and `Will` inside an English sentence are people, not a limit and a duty
    if sort == "person" and lex.language == "en" and text.istitle() and not starts:
        return _Sense(Kind.NAME, word)
    if sort in {"open", "glue"} and capital:
        shouted = len(text) > 1 and text.isupper()
        if shouted or (called if lex.language == "de" else not starts):
            return _Sense(Kind.NAME, lex.synonyms.get(word, word))
    return _Sense(kind, value)


_BESIDE_NAMES: Final = frozenset({"to", "and", "or", "from", "into", "vs", "equals"})
_BEHIND_CODE: Final = frozenset(",;.:)]=")
_BETWEEN_CODE: Final = frozenset("+-*/%<>")


def _is_named_a(raws: list[Raw], at: int) -> bool:
    """Checks for a letter that is no article, as in `Copy a to b` and `f(a, b)`."""
    after, second = (raws[at + n] if at + n < len(raws) else None for n in (1, 2))
    if after is None or (after.kind == "mark" and not _BEHIND_CODE.isdisjoint(after.text)):
        return True
    if after.word in _BESIDE_NAMES or not _BETWEEN_CODE.isdisjoint(after.text):
        return second is not None and _is_letter(second)
    joined = second is not None and second.kind == "joined"  # `a x-ray`
    return after.word == "is" or (_is_letter(after) and after.word != "a" and not joined)


def _is_letter(raw: Raw) -> bool:
    return len(raw.text) == 1 and raw.text.isalpha() and raw.text.islower()


def _number_sign(raws: list[Raw], at: int) -> int:
    """Returns how many matches, from a `no` on, are the `no.` of `no. 14`."""
    if len(raws) < at + 3 or raws[at + 1].text != ".":
        return 0
    return 2 if any(isinstance(value, Number) for _, value in raws[at + 2].values) else 0


class Reader:
    """Turns raw matches into tokens. One reader reads one text."""

    def __init__(self, language: Lexicon, coded: frozenset[str]) -> None:
        self._lex = language
        self._coded = coded
        self._mark = LINE
        self._glue: list[str] = []
        self._before = ""
        self._bare = ""
        self._made = 0

    @property
    def trailing(self) -> tuple[str, ...]:
        """Returns function words read since the last token."""
        return tuple(self._glue)

    def read(self, raws: list[Raw]) -> list[Token]:
        """Returns all tokens of a text, in order."""
        tokens: list[Token] = []
        skipped = 0
        for index, (kind, text, _, word) in enumerate(raws):
            if skipped:
                skipped -= 1
            elif text == "no":
                skipped = _number_sign(raws, index)
            if skipped:
                continue
            if kind == "mark":
                if text not in self._mark:
                    self._mark += text
            elif kind == "word" and word and text != "a" and "'" not in text:
                tokens += self._plain(text, word)
            else:
                tokens += self._one(raws, index)
        return tokens

    def _make(self, kind: Kind, value: Value, text: str, *, bare: str = "") -> Token:
        glue = " ".join(self._glue) if self._glue else ""
        token = Token(kind, value, text, self._mark, glue, bare or self._bare, self._made)
        self._mark = ""
        self._glue.clear()
        self._made += 1
        if self._lex.language == "de":  # nobody else asks
            self._before = fold(text, "de")
        return token

    def _one(self, raws: list[Raw], index: int) -> Iterable[Token]:
        raw = raws[index]
        named = raw.text == "a" and ("=" in self._mark or _is_named_a(raws, index))
        if named and self._lex.language == "en":
            return [self._make(Kind.IDENTIFIER, "a", "a")]
        if raw.word and not raw.values and raw.kind != "phrase":
            self._bare = "joined" if raw.kind == "joined" else ""
            apart = "'" in raw.text
            tokens = [*self._word(raw.text)] if apart else self._plain(raw.text, raw.word)
            self._bare = ""
            return tokens
        if raw.values:
            bare = raw.kind if raw.kind in _BARE else ""
            return [self._make(kind, value, raw.text, bare=bare) for kind, value in raw.values]
        if raw.kind == "phrase":
            return self._classed(fold(raw.text, self._lex.language), raw.text)
        if raw.kind in {"han", "kata"}:
            return self._run(raw, raws[index + 1] if index + 1 < len(raws) else None)
        if raw.kind == "hira":
            return self._hiragana(raw.text, raws[index - 1].kind if index else "")
        return ()

    # ------------------------------------------------------------------ alphabets

    def _word(self, text: str) -> Iterator[Token]:
        if "'" not in text:
            yield from self._plain(text, fold(text, self._lex.language))
            return
        word = fold(text, self._lex.language).replace("-", "")
        base, _, tail = word.rpartition("'")
        if tail == "t" and base.endswith("n"):
            stems = {"ca": "can", "wo": "will", "sha": "shall"}
            verb = stems.get(base[:-1], base[:-1])
            if verb in self._lex.modality:
                yield self._make(Kind.MODALITY, WordClass(self._lex.modality[verb]), text)
            yield self._make(Kind.NEGATION, WordClass("not"), text)
            return
        if tail in {"s", ""}:
            yield from self._word(text[: text.rindex("'")])
            self._glue.append("'s")
            return
        if tail in {"re", "ve", "ll", "d", "m"}:
            yield from self._word(text[: text.rindex("'")])
            return
        if text in self._coded:
            yield self._make(Kind.IDENTIFIER, text, text)
        else:
            yield from self._classed(base + tail, text)

    def _plain(self, text: str, folded: str) -> tuple[Token, ...]:
        """Returns a word without an apostrophe."""
        if text in self._coded:
            return (self._make(Kind.IDENTIFIER, text, text),)
        return self._classed(folded.replace("-", ""), text)

    def _classed(self, word: str, text: str) -> tuple[Token, ...]:
        starts = bool(self._mark) and not self._glue and not _SENTENCE_ENDS.isdisjoint(self._mark)
        sense = _sense_of(word, text, self._lex, starts, self._before in _TITLES)
        if not isinstance(sense, str):
            return (self._make(*sense, text),)
        self._glue.append(sense)
        if sense in _TITLES:
            self._before = sense
        return ()

    # ------------------------------------------------------------------ Japanese

    def _run(self, raw: Raw, following: Raw | None) -> Iterator[Token]:
        text = raw.text
        if raw.kind == "han" and len(text) > 1 and text[-1] in "様氏":
            yield self._make(Kind.NAME, text[:-1], text)
            return
        behind = following.text if following and following.kind == "hira" else ""
        if behind.startswith(_HONORIFICS):
            yield self._make(Kind.NAME, text, text)
            return
        for part in _known_han().split(text) if raw.kind == "han" else (text,):
            if part:
                yield from self._east(part)

    def _east(self, part: str) -> Iterator[Token]:
        lex = lexicon("ja")
        if part in lex.weekdays:
            yield self._make(Kind.DATE, Weekday(lex.weekdays[part]), part)
        elif part in lex.times:
            yield self._make(Kind.DATE, _time_of(lex.times[part]), part)
        elif part in lex.negation:
            yield self._make(Kind.NEGATION, WordClass(lex.negation[part]), part)
        elif part in lex.quantifiers:
            yield self._make(Kind.QUANTIFIER, WordClass(lex.quantifiers[part]), part)
        elif part in lex.modality:
            yield self._make(Kind.MODALITY, WordClass(lex.modality[part]), part)
        elif lex.has("significant", part):
            yield self._make(Kind.RELATION, part, part)
        elif lex.has("bland", part):
            self._glue.append(part)
        else:
            kind = Kind.SCOPE if lex.has("scopes", part) else Kind.WORD
            plain = part.rstrip("ー") if len(part) > 3 else part
            yield self._make(kind, lex.synonyms.get(part, plain), part)

    def _hiragana(self, text: str, before: str) -> Iterator[Token]:
        """Particles and endings hold together; what carries meaning among them is picked out."""
        end = 0
        for match in _morphemes().finditer(text):
            yield from self._loose(
                text[end : match.start()], inflected=before == "han" and end == 0
            )
            end = match.end()
            if _is_function_ja(match.group()):
                self._glue.append(match.group())
            else:
                yield from self._east(match.group())
        yield from self._loose(text[end:], inflected=before == "han" and end == 0)

    def _loose(self, text: str, *, inflected: bool) -> Iterator[Token]:
        """Syllables after a Han character are its ending; others are a word if long enough."""
        if len(text) >= 2 and not inflected:
            yield self._make(Kind.WORD, text, text)
        elif text:
            self._glue.append(text)


@cache
def _is_function_ja(word: str) -> bool:
    return lexicon("ja").has("function", word) or lexicon("ja").has("articles", word)


@cache
def _morphemes() -> re.Pattern[str]:
    lex = lexicon("ja")
    names = {*lex.sets["function"], *lex.sets["articles"], *lex.sets["conjunctions"]}
    names |= {*lex.negation, *lex.quantifiers, *lex.modality, *lex.sets["qualifiers"]}
    kana = (name for name in names if all("\u3041" <= sign <= "\u309f" for sign in name))
    return re.compile("|".join(sorted(kana, key=lambda name: (-len(name), name))))


@cache
def _known_han() -> re.Pattern[str]:
    lex = lexicon("ja")
    names = {*lex.negation, *lex.quantifiers, *lex.modality, *lex.sets["bland"], *lex.weekdays}
    names |= {w for w in lex.sets["scopes"] if w.endswith("環境")}
    han = sorted((n for n in names if len(n) > 1), key=lambda n: (-len(n), n))
    return re.compile("(" + "|".join(han) + ")")
