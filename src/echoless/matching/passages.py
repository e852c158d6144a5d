"""Compares long notes by their passages: which passages of one note the other note repeats.

The judge reads two short texts. A pair with a long side (`core/passages.py`) is cut up, each
passage is judged with the closest ones of the other side, and the notes get a verdict from that:

```
equal texts, equal normal forms, another status ...... as the judge says of the whole texts
another value or state in the whole texts ............ as the judge says of the whole texts
each passage of both sides covered ................... Duplicate
each passage of one side covered ..................... Subsumes, the other side says more
merged as a whole, though passages are left over ..... Unsure; never merged
anything else ........................................ as the judge says of the whole texts
```

A passage is covered by one of the other side that says all it says (Duplicate, Subsumes) in the
same context: under the same headings, or where one of them lacks a heading that changes nothing
when it is read with the passage. Items of a numbered list have to be covered in their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from rapidfuzz import fuzz, process

from echoless.core.model import (
    Contradiction,
    DifferenceKind,
    Duplicate,
    Evidence,
    Memory,
    Pair,
    Sibling,
    Subsumes,
    Unsure,
    Update,
    Verdict,
    flipped,
    merges,
)
from echoless.core.passages import Passage, PassageKind, is_long, split_passages
from echoless.core.text import words
from echoless.matching.base import Judge
from echoless.matching.facts import facts_of
from echoless.matching.fields import fields_of
from echoless.matching.rule_judge import SETTLED, RuleJudge

CLOSEST: Final = 3
"""Passages of the other side that each passage is judged with."""

LEAST_ALIKE: Final = 40.0
"""Share of words in common (`rapidfuzz.fuzz.token_set_ratio`, 0 to 100) below which two passages
are not judged, inclusive. Texts that say the same share more in any one language."""

SAME: Final = "same-passages"
CONTAINED: Final = "passages-contained"
LEFT_OVER: Final = "passages-left-over"
"""Rules of verdicts that passages give."""

_WHOLE: Final = SETTLED | {"same-facts"}
"""Rules that lay the whole texts side by side and find nothing left over."""

_UNCOMPARED: Final = frozenset({"too-long-to-compare", "nothing-to-compare"})
"""Rules that say that the whole texts could not be compared."""


class Note(NamedTuple):
    """A text in its passages; a short text is cut as well, and mostly one passage.

    Attributes:
        passages: Those that are compared: all but headings.
        texts: Of each.
        words: Of each; scripts without spaces count pairs of characters.
    """

    passages: tuple[Passage, ...]
    texts: tuple[str, ...]
    words: tuple[int, ...]

    @property
    def capped(self) -> bool:
        """Checks whether the text has more passages than are compared."""
        return bool(self.passages) and self.passages[-1].kind is PassageKind.REST


@lru_cache(maxsize=1_024)
def note_of(text: str) -> Note:
    """Returns the passages of a text that are compared."""
    passages, texts = [], []
    for passage in split_passages(text):
        if passage.kind is not PassageKind.HEADING:
            passages.append(passage)
            texts.append(passage.of(text))
    counts = tuple(max(1, len(words(each))) for each in texts)
    return Note(tuple(passages), tuple(texts), counts)


class PassageMatch(NamedTuple):
    """Two passages that were judged.

    Attributes:
        a: Place among the passages of side a.
        b: Place among those of side b.
        verdict: On the two passages alone.
        in_context: Verdict on the two passages with the headings of one side only; None where both
            have headings of their own, so that neither covers the other.
    """

    a: int
    b: int
    verdict: Verdict
    in_context: Verdict | None

    @property
    def flipped(self) -> PassageMatch:
        """Returns the same with the sides exchanged."""
        read = None if self.in_context is None else flipped(self.in_context)
        return PassageMatch(self.b, self.a, flipped(self.verdict), read)

    @property
    def b_holds_a(self) -> bool:
        """Checks whether b says all that a says, without the headings above the two."""
        return _b_holds_a(self.verdict)

    @property
    def b_covers_a(self) -> bool:
        """Checks whether b says all that a says, in its context."""
        read = self.in_context
        return self.b_holds_a and read is not None and _b_holds_a(read)

    @property
    def differs(self) -> bool:
        """Checks whether the two state another value or state of one thing."""
        return isinstance(self.verdict, Contradiction | Update) or (
            isinstance(self.verdict, Sibling) and self.verdict.evidence.veto
        )


def _b_holds_a(verdict: Verdict) -> bool:
    """Returns whether a verdict lets side b stand for side a."""
    match verdict:
        case Duplicate():
            return True
        case Subsumes(superset=side):
            return side == "b"
        case _:
            return False


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteComparison:
    """The comparison of the passages of two notes.

    Attributes:
        a: Passages of one side.
        b: Passages of the other.
        matches: Judged passages, by place.
        covered_a: Places of a that b covers, in context and order.
        covered_b: The same of b.
    """

    a: Note
    b: Note
    matches: tuple[PassageMatch, ...]
    covered_a: frozenset[int]
    covered_b: frozenset[int]

    @property
    def share_a(self) -> float:
        """Returns the share of the words of a that b says too, in any context, 0 to 1."""
        return _share(self.a, {m.a for m in self.matches if m.b_holds_a})

    @property
    def share_b(self) -> float:
        """Returns the share of the words of b that a says too, in any context, 0 to 1."""
        return _share(self.b, {m.b for m in self.matches if m.flipped.b_holds_a})

    @property
    def flipped(self) -> NoteComparison:
        """Returns the same with the sides exchanged."""
        return NoteComparison(
            a=self.b,
            b=self.a,
            matches=tuple(sorted((m.flipped for m in self.matches), key=lambda m: m[:2])),
            covered_a=self.covered_b,
            covered_b=self.covered_a,
        )

    def verdict(self, whole: Verdict) -> Verdict:
        """Returns the verdict on the notes.

        Args:
            whole: What the judge says of the whole texts.
        """
        evidence = whole.evidence
        if evidence.rule in _WHOLE:
            return whole
        made = self._by_passages(evidence)
        if merges(whole) or isinstance(whole, Subsumes):
            return _agreed(whole, made)
        if made is None or (evidence.veto and evidence.rule not in _UNCOMPARED):
            return whole
        return made

    def _by_passages(self, evidence: Evidence) -> Duplicate | Subsumes | None:
        """Returns the verdict of the passages alone; None where both sides say more."""
        all_a = len(self.covered_a) == len(self.a.passages) > 0
        all_b = len(self.covered_b) == len(self.b.passages) > 0
        if not all_a and not all_b:
            return None
        rule = SAME if all_a and all_b else CONTAINED
        plain = Evidence(rule, evidence.how, evidence.similarity, chance=evidence.chance)
        if all_a and all_b:
            return Duplicate(replace(plain, note=f"{_passages(self.a)} of each are in the other"))
        inside, side = (self.a, "b") if all_a else (self.b, "a")
        noted = replace(plain, note=f"{_passages(inside)} of one are in the other")
        return Subsumes(noted, "b" if side == "b" else "a")


def _passages(note: Note) -> str:
    """Returns how many passages a note has, in words."""
    return f"all {len(note.passages)} passages" if len(note.passages) > 1 else "the one passage"


def _share(note: Note, places: Iterable[int]) -> float:
    """Returns the share of words that lie in some passages."""
    whole = sum(note.words)
    return sum(note.words[place] for place in places) / whole if whole else 0.0


def _agreed(whole: Verdict, made: Duplicate | Subsumes | None) -> Verdict:
    """Returns a merge of whole texts if the passages bear it out, the lesser of the two."""
    if isinstance(whole, Subsumes) and made is not None:
        if isinstance(made, Duplicate) or made.superset == whole.superset:
            return whole
    elif made is not None:
        return made
    return not_borne_out(whole)


def not_borne_out(whole: Verdict) -> Verdict:
    """Returns a verdict on whole texts without the word of the passages; a merge becomes Unsure."""
    if not merges(whole) or whole.evidence.rule in _WHOLE:
        return whole
    note = "alike as a whole, but not passage by passage"
    return Unsure(replace(whole.evidence, rule=LEFT_OVER, note=note, veto=True))


# ------------------------------------------------------------------ comparing


def has_long_side(pair: Pair) -> bool:
    """Checks whether a pair is compared by passages."""
    return is_long(pair.a.content) or is_long(pair.b.content)


def by_passages(judge: Judge, pairs: Sequence[Pair], verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Returns the verdicts on pairs, those with a long side by their passages.

    Args:
        judge: Judges passages.
        pairs: What was judged.
        verdicts: On the whole texts, in the same order.
    """
    settled = list(verdicts)
    places = [
        at
        for at, pair in enumerate(pairs)
        if verdicts[at].evidence.rule not in _WHOLE and has_long_side(pair)
    ]
    wholes = [verdicts[at] for at in places]
    compared = compare_notes(judge, [pairs[at] for at in places], wholes)
    for at, comparison in zip(places, compared, strict=True):
        settled[at] = comparison.verdict(verdicts[at])
    return settled


def passages_to_judge(pair: Pair) -> int:
    """Returns how many pairs of passages are judged at most to compare two notes."""
    a, b = len(note_of(pair.a.content).passages), len(note_of(pair.b.content).passages)
    return min(a * b, CLOSEST * (a + b))


def compare_notes(
    judge: Judge, pairs: Sequence[Pair], wholes: Sequence[Verdict] = ()
) -> list[NoteComparison]:
    """Returns what the passages of each pair of notes are to each other, in their order.

    The result of a pair hangs on its two texts and the judge, not on which side is called a.

    Args:
        judge: Judges passages. It is asked about all of them together.
        pairs: Of notes, any of them long or not.
        wholes: Verdicts of the judge on the whole texts, where it gave them. By rules two notes of
            one passage each get no other one, and are not judged again.
    """
    turned = [pair.a.content > pair.b.content for pair in pairs]
    works = [
        _Work(pair.b, pair.a) if turn else _Work(pair.a, pair.b)
        for pair, turn in zip(pairs, turned, strict=True)
    ]
    if isinstance(judge, RuleJudge):  # the pair model has another budget for passages
        for work, turn, whole in zip(works, turned, wholes, strict=False):
            if work.is_whole and work.wanted():
                work.answer((0, 0), flipped(whole) if turn else whole)
    _ask(judge, [(work, at, work.bare(at)) for work in works for at in work.wanted()])
    _ask(judge, [(work, at, headed) for work in works for at, headed in work.headed()])
    made = (work.comparison() for work in works)
    return [each.flipped if turn else each for each, turn in zip(made, turned, strict=True)]


def _ask(judge: Judge, questions: Sequence[tuple[_Work, tuple[int, int], Pair]]) -> None:
    """Gives each comparison the verdicts on its pairs of passages; each pair is judged once."""
    once: dict[tuple[str | None, ...], Pair] = {}
    keys = []
    for _, _, pair in questions:
        a, b = pair.a, pair.b
        key = (a.content, b.content, a.created_at, b.created_at, a.namespace)
        once.setdefault(key, pair)
        keys.append(key)
    verdicts = dict(zip(once, judge.judge_all(list(once.values())), strict=True))
    for (work, at, _), key in zip(questions, keys, strict=True):
        work.answer(at, verdicts[key])


_EQUAL: Final = Duplicate(Evidence("same-text", "exact", 1.0))


@dataclass(slots=True)
class _Work:
    """The comparison of two notes while the judge is asked.

    Attributes:
        one: The memory on side a.
        other: The memory on side b.
        a: Passages of side a.
        b: Passages of side b.
        matches: Passages of one text in one context, and what was judged, by place.
    """

    one: Memory
    other: Memory
    a: Note = field(init=False)
    b: Note = field(init=False)
    matches: dict[tuple[int, int], PassageMatch] = field(init=False)

    def __post_init__(self) -> None:
        self.a, self.b = note_of(self.one.content), note_of(self.other.content)
        homes: dict[tuple[tuple[str, ...], str], list[int]] = {}
        for at, (passage, text) in enumerate(zip(self.b.passages, self.b.texts, strict=True)):
            homes.setdefault((passage.context, text), []).append(at)
        self.matches = {
            (at, place): PassageMatch(at, place, _EQUAL, _EQUAL)
            for at, (passage, text) in enumerate(zip(self.a.passages, self.a.texts, strict=True))
            for place in homes.get((passage.context, text), ())
            if self._says_the_same(passage, text)
        }

    def _says_the_same(self, passage: Passage, text: str) -> bool:
        """Returns whether a text says the same in both notes: `tomorrow` of two days does not."""
        if self.one.created_at == self.other.created_at:
            return True
        return passage.kind is not PassageKind.REST and not facts_of(text).relative

    @property
    def is_whole(self) -> bool:
        """Checks whether both notes are one passage each, which is all of the text."""
        return self.a.texts == (self.one.content,) and self.b.texts == (self.other.content,)

    def wanted(self) -> list[tuple[int, int]]:
        """Returns the places of passages to judge: the closest ones of each that has no equal."""
        has_a, has_b = {a for a, _ in self.matches}, {b for _, b in self.matches}
        wanted = set(_closest(self.a, self.b, has_a))
        wanted |= {(a, b) for b, a in _closest(self.b, self.a, has_b)}
        return sorted(wanted - self.matches.keys())

    def bare(self, at: tuple[int, int]) -> Pair:
        """Returns two passages as a pair of memories, without the headings above them."""
        return self._pair(self.a.texts[at[0]], self.b.texts[at[1]])

    def headed(self) -> Iterator[tuple[tuple[int, int], Pair]]:
        """Yields places of matches where one side lacks a heading, to be judged with it."""
        for (a, b), match in self.matches.items():
            above, beneath = self._above(a, b)
            if not merges(match.verdict) or match.in_context is not None or (above and beneath):
                continue
            note, at, excess = (self.a, a, above) if above else (self.b, b, beneath)
            if len(excess) <= note.passages[at].headings and _is_plain(excess, note.texts[at]):
                one = ": ".join((*above, self.a.texts[a]))
                yield (a, b), self._pair(one, ": ".join((*beneath, self.b.texts[b])))

    def _pair(self, a: str, b: str) -> Pair:
        one = replace(self.one, content=a, vectors=())
        other = replace(self.other, content=b, vectors=())
        return Pair(one, other, {"lexical": fuzz.token_set_ratio(a, b) / 100})

    def _above(self, a: int, b: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Returns the headings above each of two passages, without the common ones."""
        one, other = list(self.a.passages[a].context), list(self.b.passages[b].context)
        while one and other and one[-1] == other[-1]:
            one.pop()
            other.pop()
        return tuple(one), tuple(other)

    def answer(self, at: tuple[int, int], verdict: Verdict) -> None:
        """Takes the verdict on two passages; the second one on a match is that with headings."""
        match = self.matches.get(at)
        if match is None:
            alike = self._above(*at) == ((), ())
            self.matches[at] = PassageMatch(*at, verdict, verdict if alike else None)
        else:
            self.matches[at] = match._replace(in_context=verdict)

    def comparison(self) -> NoteComparison:
        """Returns what was found."""
        matches = tuple(match for _, match in sorted(self.matches.items()))
        return NoteComparison(
            a=self.a,
            b=self.b,
            matches=matches,
            covered_a=_covered(self.a, matches),
            covered_b=_covered(self.b, [match.flipped for match in matches]),
        )


_PLAIN: Final = frozenset(
    {
        DifferenceKind.DETAIL,
        DifferenceKind.NAME,
        DifferenceKind.IDENTIFIER,
        DifferenceKind.PATH,
        DifferenceKind.ORDER,
        DifferenceKind.LANGUAGE,
    }
)
"""Kinds of what a heading may add to a text and neither deny, limit, date nor count it."""


def _is_plain(headings: Sequence[str], text: str) -> bool:
    """Checks whether headings keep the meaning of the text below: no `TODO`, `Not`, `Staging`."""
    headed = ": ".join((*headings, text))
    if fields_of(headed).status != fields_of(text).status:
        return False
    pair = Pair(Memory(id="a", content=headed), Memory(id="b", content=text), {"lexical": 1.0})
    verdict = RuleJudge().judge(pair)
    return all(each.kind in _PLAIN for each in verdict.evidence.differences)


def _closest(one: Note, other: Note, settled: AbstractSet[int]) -> Iterator[tuple[int, int]]:
    """Yields the closest passages of another note for each that has no equal there, by place."""
    some = [at for at in _comparable(one) if at not in settled]
    others = _comparable(other)
    if not some or not others:
        return
    ratios = process.cdist(
        [one.texts[at].casefold() for at in some],
        [other.texts[at].casefold() for at in others],
        scorer=fuzz.token_set_ratio,
        score_cutoff=LEAST_ALIKE,
        dtype=np.float32,
    )
    for row, at in zip(ratios, some, strict=True):
        above = one.passages[at].context
        order = sorted(
            (-float(ratio), other.passages[place].context != above, other.texts[place], place)
            for ratio, place in zip(row.tolist(), others, strict=True)
            if ratio
        )
        yield from ((at, place) for *_, place in order[:CLOSEST])


def _comparable(note: Note) -> list[int]:
    """Returns the places of passages that are judged; what lies beyond the cap is not."""
    passages = enumerate(note.passages)
    return [at for at, passage in passages if passage.kind is not PassageKind.REST]


def _covered(note: Note, matches: Iterable[PassageMatch]) -> frozenset[int]:
    """Returns the places of side a that side b covers, items of numbered lists in their order."""
    partners: dict[int, list[int]] = {}
    for match in matches:
        if match.b_covers_a:
            partners.setdefault(match.a, []).append(match.b)
    covered = set()
    last: dict[tuple[str, ...], int] = {}
    for at in sorted(partners):
        passage = note.passages[at]
        if passage.ordered:
            later = [b for b in partners[at] if b > last.get(passage.context, -1)]
            if not later:
                continue
            last[passage.context] = min(later)
        covered.add(at)
    return frozenset(covered)
