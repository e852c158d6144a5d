"""Tell words apart: names, negations, quantifiers, duties, and what only holds together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Final

from echoless.judge import quantity
from echoless.judge.language import Lexicon, fold, lexicon, units
from echoless.judge.scan import LINE, Kind, Raw, Token

_SENTENCE_ENDS: Final = frozenset(f".!?。:|{LINE}-–—=([【「")
_TITLES: Final = frozenset(
    {"herr", "herrn", "frau", "onkel", "tante", "dr", "prof", "mr", "mrs", "ms", "familie"}
)
_KEEP: Final = frozenset(
    {"news", "less", "this", "thus", "always", "during", "thing", "need", "speed"}
)
_HONORIFIC: Final = re.compile("^(?:さん|くん|ちゃん|さま)")
_ENDINGS_DE: Final = ("innen", "ern", "en", "er", "em", "es", "e", "n", "s")


_GLUE: Final = ("articles", "prepositions", "conjunctions", "function", "bland", "weak")


@cache
def _glue_letters(lex: Lexicon) -> frozenset[str]:
    return frozenset("".join(sorted(w)) for name in _GLUE for w in lex.sets[name] if len(w) > 5)


def _slipped_glue(word: str, lex: Lexicon) -> bool:
    """A long function word with letters exchanged (`becuase`)."""
    return len(word) > 5 and "".join(sorted(word)) in _glue_letters(lex)


@cache
def stem(word: str, language: str) -> str:
    """A light stem: plural, participle and case endings off. Too little rather than too much."""
    if len(word) < 4 or word in _KEEP or not word.isalpha():
        return word
    return _stem_de(word) if language == "de" else _stem_en(word)


def _stem_de(word: str) -> str:
    for ending in _ENDINGS_DE:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def _stem_en(word: str) -> str:
    if word.endswith(("ies", "ied")) and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("ing") and not word.endswith("eing"):
        return _undouble(word, word[:-3])
    if word.endswith("ed") and not word.endswith("eed"):
        return _undouble(word, word[:-2])
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def _undouble(word: str, base: str) -> str:
    if len(base) < 3 or not re.search("[aeiouy]", base):
        return word
    if len(base) > 3 and base[-1] == base[-2] and base[-1] not in "aeiouls":
        return base[:-1]
    return base[:-1] if base.endswith("e") and len(base) > 3 else base


class Reader:
    """Turns raw matches into tokens. One reader reads one text."""

    def __init__(self, language: Lexicon, coded: frozenset[str]) -> None:
        self._lex = language
        self._coded = coded
        self._mark = LINE
        self._glue: list[str] = []
        self._before = ""

    @property
    def trailing(self) -> tuple[str, ...]:
        """Function words read since the last token."""
        return tuple(self._glue)

    def read(self, raws: list[Raw]) -> Iterator[Token]:
        """All tokens of a text, in order."""
        index = 0
        while index < len(raws):
            taken, tokens = self._number_words(raws, index)
            if not taken:
                taken, tokens = 1, list(self._one(raws, index))
            yield from tokens
            index += taken

    def _make(self, kind: Kind, key: str, text: str) -> Token:
        token = Token(kind, key, text, self._mark, " ".join(self._glue))
        self._mark, self._glue, self._before = "", [], fold(text, self._lex.language)
        return token

    def _one(self, raws: list[Raw], index: int) -> Iterator[Token]:
        raw = raws[index]
        following = raws[index + 1] if index + 1 < len(raws) else None
        if raw.kind == "mark":
            self._see_mark(raw.text)
        elif raw.keys:
            for kind, key in raw.keys:
                yield self._make(kind, key, raw.text)
        elif raw.kind == "phrase":
            yield from self._classed(fold(raw.text, self._lex.language), raw.text)
        elif raw.kind == "word":
            yield from self._word(raw.text)
        elif raw.kind in {"han", "kata"}:
            yield from self._run(raw, following)
        elif raw.kind == "hira":
            yield from self._hiragana(raw.text, raws[index - 1].kind if index else "")

    def _see_mark(self, mark: str) -> None:
        if mark not in self._mark:
            self._mark += mark

    # ------------------------------------------------------------------ alphabets

    def _number_words(self, raws: list[Raw], index: int) -> tuple[int, list[Token]]:
        """A number in words, with the unit after it: how many matches it takes, and its token."""
        words: list[str] = []
        for raw in raws[index : index + 8]:
            word = fold(raw.text, self._lex.language)
            known = word in self._lex.numbers or (words and word in self._lex.multipliers)
            if raw.kind != "word" or not (known or (words and word == "and")):
                break
            words.append(word)
        while words and words[-1] == "and":
            words.pop()
        value = quantity.word_number([w for w in words if w != "and"], self._lex) if words else None
        if value is None and words:
            words = words[:1]
            value = self._lex.numbers[words[0]]
        if value is None or (words == ["one"] and not self._counts(raws, index)):
            return 0, []
        return self._with_unit(raws, index, words, value)

    def _with_unit(
        self, raws: list[Raw], index: int, words: list[str], value: int
    ) -> tuple[int, list[Token]]:
        after = index + len(words)
        text = " ".join(raw.text for raw in raws[index:after])
        unit = raws[after].text.casefold() if after < len(raws) else ""
        if unit in units() and len(unit) > 1 and unit != "in":
            key = quantity.quantity_key(Fraction(value), unit)
            return len(words) + 1, [self._make(Kind.NUMBER, key, f"{text} {raws[after].text}")]
        return len(words), [self._make(Kind.NUMBER, f"n:{value}", text)]

    def _counts(self, raws: list[Raw], index: int) -> bool:
        """Whether `one` is a number here and not a pronoun: a plain noun has to follow."""
        if index + 1 >= len(raws) or raws[index + 1].kind != "word":
            return False
        after = fold(raws[index + 1].text, self._lex.language)
        closed = ("function", "articles", "prepositions", "conjunctions", "significant", "bland")
        return not (
            any(self._lex.has(name, after) for name in closed) or after in self._lex.modality
        )

    def _word(self, text: str) -> Iterator[Token]:
        word = fold(text, self._lex.language).replace("-", "")
        if "'" in text:
            base, _, tail = word.rpartition("'")
            if tail == "t" and base.endswith("n"):
                yield from self._contraction(base, text)
                return
            if tail in {"s", ""}:
                yield from self._word(text[: text.rindex("'")])
                self._glue.append("'s")
                return
            if tail in {"re", "ve", "ll", "d", "m"}:
                yield from self._word(text[: text.rindex("'")])
                return
            word = base + tail
        if text in self._coded:
            yield self._make(Kind.IDENTIFIER, text, text)
        else:
            yield from self._classed(word, text)

    def _contraction(self, base: str, text: str) -> Iterator[Token]:
        stems = {"ca": "can", "wo": "will", "sha": "shall"}
        verb = stems.get(base[:-1], base[:-1])
        if verb in self._lex.modality:
            yield self._make(Kind.MODALITY, f"!{self._lex.modality[verb]}", text)
        yield self._make(Kind.NEGATION, "!not", text)

    def _called(self, text: str) -> bool:
        """`Max` and `Will` inside an English sentence are people, not a limit and a duty."""
        return self._lex.language == "en" and text.istitle() and not self._starts()

    def _classed(self, word: str, text: str) -> Iterator[Token]:
        lex = self._lex
        if word in lex.weekdays and (len(word) > 4 or text[0].isupper()):
            yield self._make(Kind.DATE, f"w:{lex.weekdays[word]}", text)
        elif word in lex.months and text[0].isupper() and (len(word) > 3 or not self._starts()):
            yield self._make(Kind.DATE, f"m:{lex.months[word]:02d}", text)
        elif word in lex.times:
            yield self._make(Kind.DATE, f"t:{lex.times[word]}", text)
        elif word in lex.negation:
            yield self._make(Kind.NEGATION, f"!{lex.negation[word]}", text)
        elif self._called(text) and (word in lex.quantifiers or word in lex.modality):
            yield self._make(Kind.NAME, word, text)
        elif word in lex.quantifiers:
            yield self._make(Kind.QUANTIFIER, f"!{lex.quantifiers[word]}", text)
        elif word in lex.modality:
            yield self._make(Kind.MODALITY, f"!{lex.modality[word]}", text)
        elif word in lex.ordinals:
            yield self._make(Kind.RELATION, f"#{lex.ordinals[word]}", text)
        else:
            yield from self._open(word, text)

    def _open(self, word: str, text: str) -> Iterator[Token]:
        lex = self._lex
        if lex.has("significant", word) and not lex.has("weak", word):
            yield self._make(Kind.RELATION, word, text)
        elif self._is_glue(word) and not (text == "A" and not self._starts()):
            self._glue.append(word)
            if word in _TITLES:
                self._before = word
        elif lex.has("relative_days", word):
            yield self._make(Kind.DATE, word, text)
        elif word in units() and len(word) > 3:
            unit = units()[word]
            yield self._make(Kind.UNIT, f"u:{unit.factor} {unit.base}", text)
        elif self._is_name(text):
            yield self._make(Kind.NAME, lex.synonyms.get(word, word), text)
        else:
            kind = Kind.SCOPE if lex.has("scopes", word) else Kind.WORD
            plain = lex.synonyms.get(word)
            yield self._make(kind, plain or stem(word, lex.language), text)

    def _is_glue(self, word: str) -> bool:
        return any(self._lex.has(name, word) for name in _GLUE) or _slipped_glue(word, self._lex)

    def _starts(self) -> bool:
        return not _SENTENCE_ENDS.isdisjoint(self._mark) and not self._glue

    def _is_name(self, text: str) -> bool:
        if not text[0].isupper():
            return False
        if self._lex.language == "de":
            return self._before in _TITLES or (len(text) > 1 and text.isupper())
        return (len(text) > 1 and text.isupper()) or not self._starts()

    # ------------------------------------------------------------------ Japanese

    def _run(self, raw: Raw, following: Raw | None) -> Iterator[Token]:
        text = raw.text
        if raw.kind == "han" and len(text) > 1 and text[-1] in "様氏":
            yield self._make(Kind.NAME, text[:-1], text)
            return
        if following is not None and following.kind == "hira" and _HONORIFIC.match(following.text):
            yield self._make(Kind.NAME, text, text)
            return
        for part in _parts(text) if raw.kind == "han" else (text,):
            yield from self._east(part)

    def _east(self, part: str) -> Iterator[Token]:
        lex = lexicon("ja")
        if part in lex.weekdays:
            yield self._make(Kind.DATE, f"w:{lex.weekdays[part]}", part)
        elif part in lex.times:
            yield self._make(Kind.DATE, f"t:{lex.times[part]}", part)
        elif part in lex.negation:
            yield self._make(Kind.NEGATION, f"!{lex.negation[part]}", part)
        elif part in lex.quantifiers:
            yield self._make(Kind.QUANTIFIER, f"!{lex.quantifiers[part]}", part)
        elif part in lex.modality:
            yield self._make(Kind.MODALITY, f"!{lex.modality[part]}", part)
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
        for found in _morphemes().finditer(text):
            yield from self._loose(
                text[end : found.start()], inflected=before == "han" and end == 0
            )
            end = found.end()
            if _is_function_ja(found.group()):
                self._glue.append(found.group())
            else:
                yield from self._east(found.group())
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
    kana = sorted(
        (n for n in names if re.fullmatch("[\u3041-\u309f]+", n)), key=lambda n: (-len(n), n)
    )
    return re.compile("|".join(kana))


@cache
def _known_han() -> re.Pattern[str]:
    lex = lexicon("ja")
    names = {*lex.negation, *lex.quantifiers, *lex.modality, *lex.sets["bland"], *lex.weekdays}
    names |= {w for w in lex.sets["scopes"] if w.endswith("環境")}
    han = sorted((n for n in names if len(n) > 1), key=lambda n: (-len(n), n))
    return re.compile("(" + "|".join(han) + ")")


def _parts(run: str) -> list[str]:
    return [part for part in _known_han().split(run) if part]
