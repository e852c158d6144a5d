"""Compares long notes by their claims: what one note says that another one says too.

The judge reads two short texts. A long note (`core/claims.py`) is cut into claims, each claim is
judged with those it may repeat, and `derived` says what that means for the notes:

```
each claim of both sides covered ..... Duplicate
each claim of one side covered ....... Subsumes, the other side says more
anything else ........................ nothing; the notes stay apart
```

A claim is covered by one of the other side that says all it says (Duplicate, Subsumes) in the same
context: under the same headings, or where one of them lacks a heading that changes nothing when it
is read with the claim. The sentences of a paragraph are covered by one paragraph that says no more,
as an exception stands in the next sentence: `That was for May only.` Steps of a numbered list have
to be covered in their order. Titles, names of lists, paths, code and front matter are covered by
equal text alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from rapidfuzz import fuzz, process

from echoless.core.claims import Claim, ClaimKind, is_bare, is_long, leads_on, split_claims, weight
from echoless.core.groups import grouped
from echoless.core.model import (
    Contradiction,
    DifferenceKind,
    Duplicate,
    Evidence,
    Memory,
    Pair,
    Related,
    Subsumes,
    Unsure,
    Update,
    Verdict,
    flipped,
    merges,
)
from echoless.core.text import lazy_pattern, normalise
from echoless.matching import Judge
from echoless.matching.facts import facts_of
from echoless.matching.fields import fields_of, is_statement
from echoless.matching.rule_judge import COUNTED, SETTLED, RuleJudge

CLOSEST: Final = 3
"""Claims of the other side that each claim is judged with."""

LEAST_ALIKE: Final = 40.0
"""Share of words in common (`rapidfuzz.fuzz.token_set_ratio`, 0 to 100) below which two claims are
not judged, inclusive. Texts that say the same share more in any one language."""

HOW: Final = "claims"
"""Stands for the detector where claims alone proposed a pair."""

SAME: Final = "same-claims"
CONTAINED: Final = "claims-contained"
SOME: Final = "claims-in-common"
LEFT_OVER: Final = "claims-left-over"
"""Rules of verdicts that claims give."""

_WHOLE: Final = SETTLED | {"same-facts"}
"""Rules that lay the whole texts side by side and find nothing left over."""

_CLOSE: Final = 70.0
"""Share of words in common (`rapidfuzz.fuzz.token_set_ratio`, 0 to 100), inclusive, from which a
conflict of two notes is told. Of ten below it in two real memories none was right."""

_TOLD: Final = 7
"""Words of a claim (`core.claims.weight`), inclusive, from which it is told by itself where it
stands under something else. Of 65 pairs of eight real memories with fewer 8 were right, and of 36
others 20. Where two notes have more in common, like rules that were copied, shorter ones are told.
"""

_LIKELY: Final = 0.55
"""Probability of the same, inclusive, from which an unsure pair of claims is told. Of 1,323 pairs
of real notes those of two files are the same in 81 of 100 between .55 and .72."""

_FIELD: Final = lazy_pattern(r"(?:\*\*)?[^\s:\uff1a*][^:\uff1a\n*]{0,39}(?:\*\*)?[:\uff1a]")

WHOLE: Final = -1
"""Place of a whole text among its claims."""

Verdicts: TypeAlias = Mapping[tuple[int, int], Verdict]
"""What was judged of the claims of two notes, by their places in both."""

EQUAL: Final = Duplicate(Evidence("same-text", "exact", 1.0))


class Note(NamedTuple):
    """A text in its claims.

    A place is an index of a claim, or `WHOLE` for the whole text.

    Attributes:
        text: The whole text.
        whole: All of it as one claim.
        claims: Those that are compared: all but headings.
        texts: Of each.
        bare: Of each, whether it says nothing by itself; see `core.claims.is_bare`, or
            is code or front matter.
    """

    text: str
    whole: Claim
    claims: tuple[Claim, ...]
    texts: tuple[str, ...]
    bare: tuple[bool, ...]

    def claim(self, at: int) -> Claim:
        """Returns the claim at a place."""
        return self.whole if at == WHOLE else self.claims[at]

    def said(self, at: int) -> str:
        """Returns what is said at a place."""
        return self.text if at == WHOLE else self.texts[at]

    def is_bare(self, at: int) -> bool:
        """Checks whether a place says nothing by itself."""
        return at != WHOLE and self.bare[at]

    @property
    def capped(self) -> bool:
        """Checks whether the text has more claims than are compared."""
        return bool(self.claims) and self.claims[-1].kind is ClaimKind.REST


_LITERAL: Final = frozenset({ClaimKind.CODE, ClaimKind.METADATA, ClaimKind.REST})


@lru_cache(maxsize=1_024)
def note_of(text: str) -> Note:
    """Returns the claims of a text that are compared."""
    whole = Claim(0, len(text), ClaimKind.SENTENCE, block=WHOLE)
    claims = tuple(each for each in split_claims(text) if each.kind is not ClaimKind.HEADING)
    texts = tuple(each.of(text) for each in claims)
    bare = (c.kind in _LITERAL or is_bare(said) for c, said in zip(claims, texts, strict=True))
    return Note(text, whole, claims, texts, tuple(bare))


def has_claims(pair: Pair) -> bool:
    """Checks whether a pair is compared claim by claim: one of the two is cut."""
    return any(is_cut(each.content) for each in (pair.a, pair.b))


def is_cut(text: str) -> bool:
    """Checks whether a text is compared by its claims only: it is long, and has more than one."""
    return is_long(text) and len(note_of(text).claims) > 1


def holds(verdict: Verdict) -> bool:
    """Checks whether a verdict lets side b stand for side a."""
    return isinstance(verdict, Duplicate) or (
        isinstance(verdict, Subsumes) and verdict.superset == "b"
    )


# ------------------------------------------------------------------ what claims mean for notes


def derived(a: Note, b: Note, verdicts: Verdicts) -> Duplicate | Subsumes | None:
    """Returns the verdict on two notes; None where both say something of their own.

    Args:
        a: One note.
        b: The other.
        verdicts: On their claims.
    """
    other_way = {(y, x): flipped(verdict) for (x, y), verdict in verdicts.items()}
    all_a = len(covered(a, b, verdicts)) == len(a.claims) > 0
    all_b = len(covered(b, a, other_way)) == len(b.claims) > 0
    if not all_a and not all_b:
        return None
    inside = a if all_a else b
    many = f"all {len(inside.claims)} claims" if len(inside.claims) > 1 else "the one claim"
    of, rule = ("each", SAME) if all_a and all_b else ("one", CONTAINED)
    note = f"{many} of {of} {'are' if len(inside.claims) > 1 else 'is'} in the other"
    chances = [v.evidence.chance for v in verdicts.values() if v.evidence.chance is not None]
    evidence = Evidence(rule, HOW, 1.0, chance=min(chances, default=None), note=note)
    if rule == SAME:
        return Duplicate(evidence)
    return Subsumes(evidence, "b" if all_a else "a")


def covered(note: Note, other: Note, verdicts: Verdicts) -> frozenset[int]:
    """Returns the places of a note that another note covers, steps of a list in their order.

    One block of the other note says all sentences of a block, and no sentence beyond them.

    Args:
        note: Side a of the verdicts.
        other: Side b.
        verdicts: On their claims.
    """
    partners: dict[int, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for (a, b), verdict in verdicts.items():
        if holds(verdict) and stands_for(note, a, other, b):
            partners[a][other.claim(b).block].add(b)
    sizes = Counter(claim.block for claim in other.claims)
    places: set[int] = set()
    last: dict[tuple[str, ...], int] = {}
    for _, group in groupby(range(WHOLE, len(note.claims)), lambda at: note.claim(at).block):
        own = list(group)
        first = note.claim(own[0])
        for block in sorted(set.intersection(*({*partners[at]} for at in own))):
            repeated = set().union(*(partners[at][block] for at in own))
            after = not first.ordered or min(repeated) > last.get(first.context, WHOLE)
            if after and len(repeated) >= sizes[block]:
                if own == [WHOLE]:
                    return frozenset(range(len(note.claims)))
                last[first.context] = min(repeated)
                places.update(own)
                break
    return frozenset(places)


def stands_for(note: Note, a: int, other: Note, b: int) -> bool:
    """Returns whether what stands above two claims lets one stand for the other.

    Args:
        note: One note.
        a: Place of its claim.
        other: The other note.
        b: Place of its claim.
    """
    scrap = note.is_bare(a) or other.is_bare(b)
    if scrap and loosely(note.said(a)) != loosely(other.said(b)):
        return False
    sides = (note.claim(a), note.said(a)), (other.claim(b), other.said(b))
    (bare, _), (headed, said) = sorted(sides, key=lambda each: len(each[0].context))
    more = len(headed.context) - len(bare.context)
    within = headed.context[more:] == bare.context and more <= headed.headings
    return within and _changes_nothing(headed.context[:more], said)


def _changes_nothing(headings: Sequence[str], text: str) -> bool:
    """Checks whether headings keep the meaning of the text below: no `TODO`, `Not`, `Staging`."""
    headed = ": ".join((*headings, text))
    pair = Pair(Memory(id="a", content=headed), Memory(id="b", content=text), {"lexical": 1.0})
    status = fields_of(headed).status
    return not headings or (status == fields_of(text).status and merges(RuleJudge().judge(pair)))


def loosely(said: str) -> str:
    """Returns a claim without case and marks, to be compared letter by letter."""
    return normalise(said, fold_case=True).strip("*_`#:. ")


def may_say_again(note: Note, a: int, other: Note, b: int) -> bool:
    """Returns whether any verdict on two claims is worth a line of a report.

    What says nothing by itself is not. A fragment, such as a row, speaks of what stands above it:
    another heading above it makes it another thing.

    Args:
        note: One note.
        a: Place of its claim.
        other: The other note.
        b: Place of its claim.
    """
    if note.is_bare(a) or other.is_bare(b):
        return False
    one, two = note.said(a), other.said(b)
    return (
        _in_one_context(note, a, other, b)
        or (is_statement(one) and is_statement(two))
        or loosely(one) == loosely(two)
    )


def _in_one_context(note: Note, a: int, other: Note, b: int) -> bool:
    """Returns whether two claims stand under the same: in one note, or under headings of a name."""
    context = note.claim(a).context
    return context == other.claim(b).context and (note is other or bool(context))


def reported(a: Note, b: Note, verdicts: Verdicts) -> list[tuple[int, int]]:
    """Returns the places of claims that are worth a line of a report, in their order.

    A short sentence (`All green; no deploy.`) and a figure or day may speak of their note alone.
    So between two notes these are told only where the notes say another sentence again.

    Args:
        a: One note.
        b: The other, or the same one.
        verdicts: On their claims.
    """
    some = [at for at in sorted(verdicts) if says_again(a, at[0], b, at[1], verdicts[at])]
    alone = {at for at in some if a is b or _says_by_itself(a, at[0], b, at[1], verdicts[at])}
    joined = any(merges(verdicts[at]) for at in alone)
    return some if joined else [at for at in some if at in alone]


def _says_by_itself(note: Note, a: int, other: Note, b: int, verdict: Verdict) -> bool:
    """Checks whether two claims of two notes need nothing around them to be told."""
    if isinstance(verdict, Update | Contradiction):
        return not any(each.kind in COUNTED for each in verdict.evidence.differences)
    beside = _in_one_context(note, a, other, b)
    return beside or min(weight(note.said(a)), weight(other.said(b))) >= _TOLD


def says_again(note: Note, a: int, other: Note, b: int, verdict: Verdict) -> bool:
    """Returns whether a verdict on two claims is worth a line of a report.

    A conflict needs a value that differs between sentences with most words in common. Two fields
    conflict only in one context, as each thing has its own.

    Args:
        note: One note.
        a: Place of its claim.
        other: The other note.
        b: Place of its claim.
        verdict: On the two claims.
    """
    if not may_say_again(note, a, other, b):
        return False
    if isinstance(verdict, Update | Contradiction):
        one, two = note.said(a), other.said(b)
        field = _FIELD.match(one) or _FIELD.match(two)
        stated = is_statement(one) and is_statement(two) and not field
        close = fuzz.token_set_ratio(one.casefold(), two.casefold()) >= _CLOSE
        valued = verdict.evidence.difference not in {None, DifferenceKind.DETAIL}
        return close and valued and (stated or _in_one_context(note, a, other, b))
    chance = verdict.evidence.chance or 0.0
    if leads_on(note.said(a)) or leads_on(other.said(b)):
        return False  # the notes link to each other, or to a third
    return merges(verdict) or (isinstance(verdict, Unsure) and chance >= _LIKELY)


# ------------------------------------------------------------------ one pair of notes


def by_claims(judge: Judge, pairs: Sequence[Pair], verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Returns the verdicts on pairs, those with a long side by their claims.

    The result of a pair hangs on its two texts and the judge, not on which side is called a.

    Args:
        judge: Judges claims. It is asked about those of all pairs together.
        pairs: What was judged.
        verdicts: On the whole texts, in the same order.
    """
    settled = list(verdicts)
    works = {
        at: _Work(pair)
        for at, pair in enumerate(pairs)
        if verdicts[at].evidence.rule not in _WHOLE and has_claims(pair)
    }
    questions = [(work, at) for work in works.values() for at in work.wanted()]
    answers = judge.judge_all([work.pair_at(at) for work, at in questions])
    for (work, places), verdict in zip(questions, answers, strict=True):
        work.verdicts[places] = verdict
    for at, work in works.items():
        settled[at] = work.verdict(verdicts[at])
    return settled


class _Work:
    """The comparison of two notes while the judge is asked."""

    def __init__(self, pair: Pair) -> None:
        self._pair = pair
        self.a, self.b = note_of(pair.a.content), note_of(pair.b.content)
        self.verdicts: dict[tuple[int, int], Verdict] = {}
        homes = grouped((text, at) for at, text in enumerate(self.b.texts))
        for at, text in enumerate(self.a.texts):
            # `tomorrow` of two days is not one day
            if pair.a.created_at == pair.b.created_at or not facts_of(text).relative:
                self.verdicts.update(((at, place), EQUAL) for place in homes.get(text, ()))

    def wanted(self) -> list[tuple[int, int]]:
        """Returns the places of claims to judge: the closest ones of each that has no equal."""
        has_a, has_b = {a for a, _ in self.verdicts}, {b for _, b in self.verdicts}
        wanted = set(_closest(self.a, self.b, has_a))
        wanted |= {(a, b) for b, a in _closest(self.b, self.a, has_b)}
        return sorted(wanted - self.verdicts.keys())

    def pair_at(self, at: tuple[int, int]) -> Pair:
        """Returns two claims as a pair of memories, without the headings above them."""
        one, other = self.a.texts[at[0]], self.b.texts[at[1]]
        return Pair(
            replace(self._pair.a, content=one, vectors=()),
            replace(self._pair.b, content=other, vectors=()),
            {"lexical": fuzz.token_set_ratio(one, other) / 100},
        )

    def verdict(self, whole: Verdict) -> Verdict:
        """Returns the verdict on the notes; a conflict of two claims is one of the notes.

        Args:
            whole: What the judge says of the whole texts.
        """
        made = derived(self.a, self.b, self.verdicts)
        if made is not None:
            return made
        lines = reported(self.a, self.b, self.verdicts)
        for at in lines:
            if isinstance(self.verdicts[at], Update | Contradiction):
                return self.verdicts[at]
        if merges(whole):
            note = "alike as a whole, but not claim by claim"
            return Unsure(replace(whole.evidence, rule=LEFT_OVER, note=note, veto=True))
        if not lines:
            return whole
        note = f"{len({a for a, _ in lines})} of {len(self.a.claims)} claims are said again"
        return Related(Evidence(SOME, HOW, whole.evidence.similarity, note=note, veto=True))


def _closest(one: Note, other: Note, settled: AbstractSet[int]) -> Iterator[tuple[int, int]]:
    """Yields the closest claims of another note for each that has no equal there, by place."""
    some = [at for at, bare in enumerate(one.bare) if not bare and at not in settled]
    others = [at for at, bare in enumerate(other.bare) if not bare]
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
        above = one.claims[at].context
        order = sorted(
            (-float(ratio), other.claims[place].context != above, other.texts[place], place)
            for ratio, place in zip(row.tolist(), others, strict=True)
            if ratio
        )
        yield from ((at, place) for *_, place in order[:CLOSEST])
