"""What a text binds: what it denies, and who may do what without asking.

Two texts of one wording may bind the opposite: `never push without asking`, `push without asking`.
Two readings of a text tell them apart, by the words of `speech`:

```
signs ....... each word is stated, denied, or required (`without` in a clause that denies)
consent ..... somebody is to be asked, or need not be
```
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from echoless.core.model import Difference, DifferenceKind
from echoless.matching.comparison import Comparison
from echoless.matching.facts import Facts, remembered
from echoless.matching.languages import stem
from echoless.matching.speech import (
    MARKS,
    TIMES,
    Speech,
    Word,
    classes_in,
    found_in,
    language_of_pair,
    scanned,
    speech_of,
    words_of,
)

STATED: Final = 1
DENIED: Final = -1
REQUIRED: Final = 2
"""Sign of a word without which nothing goes: two denials around it. It opposes `DENIED` alone."""
KINDS: Final = frozenset(
    {DifferenceKind.PERMISSION, DifferenceKind.DENIAL, DifferenceKind.BOUND, DifferenceKind.PERSON}
)
"""Kinds of difference that no model overrules, on one side or on both."""

_ASKING: Final = frozenset({"consent", "alone"})
"""Classes without which a text does not say that somebody is asked, or need not be."""
_TURNING: Final = _ASKING | {"denial", "denied", "absent", "lack", "request"}
"""Classes without which each word of a text is stated."""
_STEM: Final = 5
"""Letters of a stem that count: `allergic`, `allergy`."""
_OPENERS: Final = ("unless", "before", "condition")
_LEAST_TURNED: Final = 6
"""Letters from which an English word with `un` is denied by it, inclusive."""
_SECOND: Final = frozenset({"pas", "jamais", "plus", "rien", "aucun", "aucune", "personne"})
"""French words that complete the denial of `ne`."""
_NE: Final = frozenset({"ne", "n'"})
_QUE: Final = frozenset({"que", "qu'"})
_ADVERBS: Final = frozenset({"nicht", "nie", "niemals"})
_REPORTED: Final = frozenset({"asked", "told", "confirmed", "approved", "requested"})
"""Words that report what was asked, unless a denial or a condition makes a rule of them."""
_NEED: Final = ("muss", "müss", "brauch")


def _turned(word: str) -> bool:
    """Returns whether an English word may be denied by its own prefix."""
    begun = word.startswith("un") and len(word) >= _LEAST_TURNED
    return begun and not word.startswith(("uni", "under", "until", "unless"))


@dataclass(frozen=True, slots=True)
class Binding:
    """What one text binds.

    Attributes:
        signs: `STATED`, `DENIED` or `REQUIRED` for each content word, by stem; without the words
            that have two.
        written: The same words as written.
        loose: Words within a condition that is denied: they agree with a denial of the other text,
            and oppose none.
        turned: Words that their own prefix denies: they oppose, and agree with none.
        consent: `STATED` where somebody is to be asked, `DENIED` where nobody is, else 0.
        denials: How many words deny.
        traits: Of `only`, `permits`, `prohibits` and `asks` (words of asking are there).
    """

    signs: Mapping[str, int]
    written: Mapping[str, str]
    loose: frozenset[str]
    turned: frozenset[str]
    consent: int
    denials: int
    traits: frozenset[str]


class _Reading:
    """Reads the clauses of one text, in order."""

    def __init__(self, speech: Speech) -> None:
        self._speech = speech
        self._signs: dict[str, set[int]] = {}
        self._written: dict[str, str] = {}
        self._consent = set[int]()
        self._traits = set[str]()
        self._denials = 0
        self._loose, self._turned = set[str](), set[str]()
        self._forbids = self._only = self._vague = False
        self._asked = self._denied = False

    def result(self) -> Binding:
        """Returns what was read."""
        signs = {word: signs.copy().pop() for word, signs in self._signs.items() if len(signs) == 1}
        # `the small ones without asking; the big ones, no` rules two deeds
        one = len(self._consent) == 1 and not (DENIED in self._consent and self._forbids)
        consent = self._consent.copy().pop() if one else 0
        return Binding(
            signs,
            self._written,
            frozenset(self._loose),
            frozenset(self._turned),
            consent,
            self._denials,
            frozenset(self._traits),
        )

    def clause(self, opener: str, parts: list[Word]) -> None:
        """Reads one clause.

        Args:
            opener: Class of the word that opens it: `unless`, `before`, `condition`, or empty.
            parts: Its words.
        """
        start = STATED
        if opener == "before" and self._asked and not self._denied:
            start = DENIED  # `ask before you push` states what asking is for
        whole = [
            part
            for part, after in zip(parts, (*parts[1:], None), strict=True)
            if "denied" in part.classes
            # `unnecessary renders` says nothing of all, `it is unnecessary` does
            or ("absent" in part.classes and (" " in part.text or not after or after.classes))
        ]
        if len(whole) % 2:
            start = -start
            self._denials += 1
        if any("denied" in part.classes for part in whole) or "denial" in parts[0].classes:
            self._traits.add("prohibits")
        if any("absent" in part.classes and " " in part.text for part in whole):
            self._traits.add("permits")  # `no need to`
        parts, start = self._behind([part for part in parts if part not in whole], start)
        denials = [at for at, part in enumerate(parts) if "denial" in part.classes]
        self._denials += len(denials)
        asks = any("consent" in part.classes for part in parts)
        self._forbids |= bool(denials or whole) and not asks
        if opener == "condition" and self._only:
            start = REQUIRED
        # `if it is not so`: what a condition denies, the text neither states nor denies
        self._vague = opener == "condition" and bool(denials)
        self._vague |= opener == "unless" and not self._denied
        sign = self._scope(parts, denials, start, opener)
        self._only = bool(parts) and "only" in parts[-1].classes
        self._denied = sign == DENIED or bool(len(whole) % 2)
        self._asked = any(part.classes & {"request", "consent"} for part in parts)

    def _scope(self, parts: Sequence[Word], denials: Sequence[int], start: int, opener: str) -> int:
        """Notes the words of a clause; returns the sign at its end.

        What stands before a denial is neither denied nor stated by it.
        """
        sign, odd, turned = start, bool(len(denials) % 2), False
        for at, part in enumerate(parts):
            if at in denials:
                sign = -sign
            elif "lack" in part.classes:
                required = odd and (sign == DENIED or at == 0)
                sign = REQUIRED if required or turned else -start
                self._denials += 1
            elif odd and denials and at < denials[0] and "consent" not in part.classes:
                if parts[denials[0]].text in _ADVERBS:  # the verb comes first: `räum es nie auf`
                    self._word(part, REQUIRED if sign == REQUIRED else DENIED)
            else:
                turned |= self._word(part, REQUIRED if opener == "unless" and sign > 0 else sign)
        return sign

    def _behind(self, parts: list[Word], start: int) -> tuple[list[Word], int]:
        """Takes out a denial that denies what stands before it (`resonancia no`, `muss nicht`)."""
        places = [at for at, part in enumerate(parts) if "denial" in part.classes]
        if not places or len(parts) < 2:
            return parts, start
        last, language = places[-1], self._speech.language
        if language == "fr":
            later = [part.text for part in parts[places[0] + 1 :]]
            if parts[last].text in _NE and not _QUE.isdisjoint(later):  # `ne … que` says only
                only = Word("que", frozenset({"only"}))
                rest = [part for at, part in enumerate(parts) if at != last]
                return [only if part.text in _QUE else part for part in rest], start
            # `ne … jamais` denies once
            parts = [p for at, p in enumerate(parts) if at <= places[0] or p.text not in _SECOND]
            return parts, start
        needs = any(part.text.startswith(_NEED) for part in parts[:last])
        unneeded = needs and parts[last].text == "nicht"
        if last == len(parts) - 1 or (language == "de" and unneeded):
            self._denials += 1
            return [part for at, part in enumerate(parts) if at != last], -start
        return parts, start

    def _word(self, part: Word, sign: int) -> bool:
        """Notes the sign of a word; True where the word itself denies (`unusable`)."""
        text, classes = part
        if "permission" in classes and "consent" not in classes:
            self._traits.add("permits")
        if "only" in classes:
            self._traits.add("only")
        elif "alone" in classes:
            self._consent.add(DENIED if sign > 0 else STATED)
        elif "consent" in classes:
            self._traits.add("asks")
            if sign != STATED or text not in _REPORTED:
                self._consent.add(STATED if sign > 0 else DENIED)
            self._note(text, sign)
        elif not classes & {"silent", "clause", "condition", "permission", *TIMES}:
            if self._speech.language != "en" or not _turned(text):
                self._note(text, sign)
                return False
            self._denials += 1
            self._note(text[2:], STATED if sign == DENIED else DENIED)
            self._turned.add(stem(text[2:], "en")[:_STEM])
            return True
        return False

    def _note(self, text: str, sign: int) -> None:
        language = self._speech.language
        word = stem(text, language) if language in {"en", "de"} else text
        if self._vague:
            self._loose.add(word[:_STEM])
            return
        self._signs.setdefault(word[:_STEM], set()).add(sign)
        self._written.setdefault(word[:_STEM], text)


@remembered
def _binding(facts: Facts, speech: Speech) -> Binding:
    """Returns what a text binds, read in a language."""
    return _read_east(facts, speech) if speech.east else _read(facts, speech)


def _read(facts: Facts, speech: Speech) -> Binding:
    reading = _Reading(speech)
    opener, clause = "", list[Word]()
    for part in words_of(facts, speech):
        opens = part.text in MARKS or part.classes & {"unless", "before", "clause"}
        if opens:
            if clause:
                reading.clause(opener, clause)
            opener = next((name for name in _OPENERS if name in part.classes), "")
            clause = []
        stays = not opens or part.classes & {"denial", "lack", "only", "consent"}
        if stays and part.text not in MARKS:
            clause.append(part)
    if clause:
        reading.clause(opener, clause)
    return reading.result()


def _read_east(facts: Facts, speech: Speech) -> Binding:
    """Reads Japanese and Chinese by patterns: verbs end in their denial, or stand behind it."""
    names = ("asks", "free", "forbids", "allows")
    marks = {name for name in names if found_in(facts, speech, name)}
    consent = {frozenset({"asks"}): STATED, frozenset({"free"}): DENIED}
    traits = {"forbids": "prohibits", "allows": "permits", "asks": "asks", "free": "asks"}
    asked = consent.get(frozenset(marks & {"asks", "free"}), 0)
    shown = frozenset(traits[name] for name in marks)
    return Binding({}, {}, frozenset(), frozenset(), asked, len(marks), shown)


class _Sides(NamedTuple):
    """What two texts bind."""

    a: Binding
    b: Binding
    east: bool

    @property
    def shared(self) -> list[str]:
        """Returns the words that both have with one sign each."""
        return sorted(self.a.signs.keys() & self.b.signs.keys())

    def agree(self, word: str) -> bool:
        """Returns whether both texts deny a word, one of them at least outside of a condition."""
        if word in self.a.turned or word in self.b.turned:
            return False
        loose = [word in side.loose for side in (self.a, self.b)]
        denied = [side.signs.get(word) == DENIED for side in (self.a, self.b)]
        return not all(loose) and all(map(max, loose, denied))

    @property
    def crossed(self) -> list[str]:
        """Returns the words that one text denies and the other does not."""
        a, b = self.a.signs, self.b.signs
        return [word for word in self.shared if (a[word] > 0) != (b[word] > 0)]


def _sides(texts: Comparison) -> _Sides:
    speech = speech_of(texts.language)
    return _Sides(_binding(texts.a, speech), _binding(texts.b, speech), speech.east)


def _may(texts: Comparison, one: frozenset[str], both: frozenset[str]) -> bool:
    """Returns whether two texts have words of some classes, and one of them of others."""
    speech = speech_of(texts.language)
    held = [_held(each, speech) for each in (texts.a, texts.b)]
    return all(not both.isdisjoint(own) for own in held) and any(own & one for own in held)


@remembered
def _held(facts: Facts, speech: Speech) -> frozenset[str]:
    un = speech.language == "en" and any(map(_turned, scanned(facts)))
    return classes_in(facts, speech) | ({"denial"} if un else frozenset())


def speaks_of_consent(a: Facts, b: Facts) -> bool:
    """Returns whether one of two texts says that somebody is asked, or need not be."""
    speech = speech_of(language_of_pair(a, b))
    return any(_binding(each, speech).consent for each in (a, b))


def permission(texts: Comparison) -> Difference | None:
    """Finds `never push without asking` against `no need to ask before you push`."""
    sides = _sides(texts) if _may(texts, _ASKING, _ASKING | {"only"}) else None
    if sides is None or not _one_deed(texts, sides, least=0.0):
        return None
    free = [
        one.consent == DENIED and (other.consent == STATED or _guards(other, one, sides))
        for one, other in ((sides.a, sides.b), (sides.b, sides.a))
    ]
    if not any(free):
        return None
    sides_said = [(_FREE if each else _ASKED,) for each in free]
    return Difference(DifferenceKind.PERMISSION, *sides_said)


_FREE: Final = "without asking"
_ASKED: Final = "not without asking"


def _guards(other: Binding, free: Binding, sides: _Sides) -> bool:
    """Returns whether a text forbids, or reserves for some, what the other leaves free."""
    if sides.east:
        return "prohibits" in other.traits and not other.consent
    return "only" in other.traits and "asks" in free.traits and not other.consent


def denial(texts: Comparison) -> Difference | None:
    """Finds texts that both deny, but not the same: `unusable without it`, `it is not needed`.

    Two denials balance only where both texts deny one word. Of words that both have, at least half
    have to be denied by one alone, or one be required here and denied there.
    """
    if not _may(texts, _TURNING, _TURNING | {"permission", "unless", "condition"}):
        return None
    sides = _sides(texts)
    a, b = sides.a.signs, sides.b.signs
    crossed = sides.crossed
    required = [word for word in crossed if {a[word], b[word]} == {REQUIRED, DENIED}]
    if not required:
        agreed = any(map(sides.agree, {*a, *sides.a.loose} & {*b, *sides.b.loose}))
        if not crossed or agreed or 2 * len(crossed) < len(sides.shared):
            return None
        both = sides.a.denials and sides.b.denials
        if not both and not _permitted(sides):
            return None
    words = required or crossed
    said = [(_phrase(side, words),) for side in (sides.a, sides.b)]
    return Difference(DifferenceKind.DENIAL, *said)


def _phrase(side: Binding, words: Sequence[str]) -> str:
    """Returns some words of a text in their order, as it states or denies them."""
    own = [word for word in side.signs if word in words]
    denied = [word for word in own if side.signs[word] == DENIED]
    stated = [word for word in own if side.signs[word] != DENIED]
    phrases = [" ".join(side.written[word] for word in each) for each in (stated, denied)]
    return "; ".join(phrase for phrase in (phrases[0], denied and f"not {phrases[1]}") if phrase)


def _permitted(sides: _Sides) -> bool:
    """Returns whether one text forbids all that the other explicitly allows or demands."""
    if len(sides.crossed) < len(sides.shared):
        return False
    return any(
        {"permits"} == one.traits & {"permits", "only"} and DENIED in other.signs.values()
        for one, other in ((sides.a, sides.b), (sides.b, sides.a))
    )


def opposed(texts: Comparison, kind: DifferenceKind) -> bool:
    """Returns whether two texts rule one deed in opposite ways: a person is told of both.

    Args:
        texts: Both, with a difference of this module.
        kind: Of that difference.
    """
    sides = _sides(texts)
    rules = [{"prohibits", "permits"} & side.traits for side in (sides.a, sides.b)]
    if not any(rules) or not _one_deed(texts, sides, least=0.5):
        return False
    if kind is DifferenceKind.PERMISSION:
        return True
    ruled = all(map(bool, (rules[0] or sides.a.consent, rules[1] or sides.b.consent)))
    return kind is DifferenceKind.DENIAL and ruled and sides.a.traits != sides.b.traits


def _one_deed(texts: Comparison, sides: _Sides, *, least: float) -> bool:
    """Returns whether two texts have words in common, at least this share of the shorter one's."""
    if sides.east:
        a, b = ({*filter(str.isalpha, text.body)} for text in (texts.a, texts.b))
        common, shorter = len(a & b), min(len(a), len(b))
    else:
        common, shorter = len(sides.shared), min(len(sides.a.signs), len(sides.b.signs))
    return common > 0 and common >= least * shorter
