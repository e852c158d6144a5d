"""The decision: from two texts side by side to a verdict that names its reason.

```
equal texts, equal normal forms ........................ Duplicate
too long, nothing to compare ........................... Unsure
nothing left over on either side ....................... Duplicate, or Contradiction (order), …
left over on one side, as an addition .................. Subsumes
anything else: align by meaning, then
  a veto (value, name, negation, role, …) .............. Update, Contradiction, Sibling, …
  no veto, score at or above `merge` ................... Duplicate, Subsumes
  no veto, score at or above `review` .................. Unsure
  no veto, score below ................................. Related, Distinct, Update, …
```

The law: no similarity and no score outweighs a veto.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rapidfuzz import fuzz

from echoless.judge.align import comparable
from echoless.judge.case import Case
from echoless.judge.compare import Comparison, compare
from echoless.judge.edition import edition
from echoless.judge.facts import Facts, facts_of
from echoless.judge.guards import GuardJudge
from echoless.judge.labels import relabelled, told_apart
from echoless.judge.meaning import Meaning
from echoless.judge.naming import differences
from echoless.judge.reading import reading_of
from echoless.judge.roles import denied
from echoless.judge.scan import Kind, Token
from echoless.judge.scorecard import Scorecard, scorecard
from echoless.judge.settle import settle
from echoless.judge.surface import surface_difference
from echoless.judge.weighing import asked, weigh_all
from echoless.model import (
    Contradiction,
    Difference,
    DifferenceKind,
    Duplicate,
    Pair,
    Sibling,
    Subsumes,
    Unsure,
    Verdict,
)

__all__ = ["FullJudge", "GuardJudge"]

_SAME_WORDS_ASIDE: Final = 0.7
"""Cosine (USE multilingual) that two texts need which agree but for words that say little."""

_SAME_WORDING: Final = 80
"""Share of letters in common, in percent (`rapidfuzz.fuzz.ratio`), from which `is` and `was` are
the difference of two texts and not a matter of wording, inclusive."""

_AGENTS: Final = frozenset({Kind.NAME, Kind.WORD, Kind.IDENTIFIER})

_LIST_LENGTH: Final = 12
"""Tokens from which a sign before a figure at a line's start is taken for a bullet of a list."""


_BATCH: Final = 128
"""Pairs weighed together; more would not fit the caches of a processor."""


class FullJudge:
    """Compares what two texts say and merges only what leaves nothing unexplained.

    With an encoder it also sees what is said in other words. Without one it merges what agrees word
    for word, and leaves the rest apart.
    """

    def __init__(self, meaning: Meaning | None = None, card: Scorecard | None = None) -> None:
        """Take the vectors of words and texts, if there are any.

        Args:
            meaning: Vectors of a calibrated encoder, or None.
            card: Learned weights; the shipped ones by default.
        """
        self._meaning = meaning
        self._card = card or scorecard()

    def judge(self, pair: Pair) -> Verdict:
        """Give the verdict with its evidence.

        Raises:
            EncoderError: The encoder failed.
        """
        return self.judge_all([pair])[0]

    def judge_all(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """The verdicts on many pairs, in their order; vectors are made in bulk.

        Raises:
            EncoderError: The encoder failed.
        """
        if self._meaning is not None:
            self._meaning.make_room()
        cases = [Case(pair, self._meaning) for pair in pairs]
        said = [_by_words(case) for case in cases]
        left = [
            (case, found)
            for case, found in zip(cases, said, strict=True)
            if isinstance(found, Comparison)
        ]
        judged = iter(self._weighed(left))
        return [next(judged) if isinstance(found, Comparison) else found for found in said]

    @property
    def meaning(self) -> Meaning | None:
        """The vectors of words and texts, if there are any."""
        return self._meaning

    @property
    def shipped(self) -> bool:
        """Whether its weights are the shipped ones."""
        return self._card is scorecard()

    @property
    def basis(self) -> str:
        """Names all that a verdict hangs on but the pair, see `Repeatable`."""
        model = None if self._meaning is None else self._meaning.basis
        card = None if self.shipped else repr(self._card)
        return f"full {edition()} {model} {card}"

    def consulted(self, pairs: Sequence[Pair]) -> list[float | None]:
        """The cosine a detector measured, where no vectors of this judge's own come before it."""
        return [None if self._sees(pair) else pair.signals.get("semantic", 0.0) for pair in pairs]

    def _sees(self, pair: Pair) -> bool:
        if self._meaning is None:
            return False
        return comparable(reading_of(pair.a.content), reading_of(pair.b.content), self._meaning)

    def _weighed(self, left: Sequence[tuple[Case, Comparison]]) -> list[Verdict]:
        """What the words do not decide is weighed together, then what stays apart is named."""
        if self._meaning is not None:
            self._meaning.prepare(_asked_about((case for case, _ in left), self._meaning))
        verdicts: list[Verdict] = []
        for start in range(0, len(left), _BATCH):
            some = left[start : start + _BATCH]
            weighed = weigh_all(
                [asked((case.a, case.b), case.facts, found, case.known) for case, found in some],
                self._meaning,
            )
            verdicts += settle([case for case, _ in some], weighed, self._card)
        return verdicts


def _asked_about(cases: Iterable[Case], meaning: Meaning) -> Iterator[str]:
    """Texts and words whose vectors the verdicts will need, as far as they are not known."""
    for case in cases:
        a, b = reading_of(case.a.content), reading_of(case.b.content)
        if not comparable(a, b, meaning):
            continue
        for side in (a, b):
            if not meaning.knows(side.text):
                yield side.text
                yield from side.spoken


def _by_words(case: Case) -> Verdict | Comparison:
    """The verdict if the words alone decide, else what they leave open."""
    a, b = case.facts
    if case.a.content == case.b.content and a.counts == b.counts:
        return Duplicate(case.evidence("same-text"))
    verdict = _compared(case)
    if isinstance(verdict, Duplicate | Subsumes):
        return _held_by_surface(case, verdict) or verdict
    return verdict


def _held_by_surface(case: Case, verdict: Duplicate | Subsumes) -> Verdict | None:
    """Words agree: does what stands between them?"""
    a, b = case.a.content, case.b.content
    superset = case.side(verdict.superset) if isinstance(verdict, Subsumes) else None
    found = surface_difference(a, b, facts_of(a).language, superset)
    return None if found is None else Unsure(case.evidence(*found, veto=True))


def _compared(case: Case) -> Verdict | Comparison:
    a, b = case.facts
    if a.normal == b.normal and a.normal and a.counts == b.counts:
        return Duplicate(case.evidence("same-text-after-normalising"))
    if a.capped or b.capped:
        return Unsure(case.evidence("too-long-to-compare", veto=True))
    if not a.tokens or not b.tokens:
        return Unsure(case.evidence("nothing-to-compare", veto=True))
    found = compare(a, b)
    if found.two_sided:
        return found
    held = _held(case, a, b, found)
    if held is not None:
        return held
    if not settled(found, case.semantic if found.faint else 0.0):
        return found
    if found.superset is None and found.exact is not None:
        return Subsumes(case.evidence("more-exact"), case.side(found.exact))
    if found.superset is None:
        return Duplicate(case.evidence("same-facts"))
    rule = "narrows" if found.narrows else "adds-only"
    evidence = case.evidence(rule, *differences(found))
    return Subsumes(evidence, case.side(found.superset), found.narrows)


def settled(found: Comparison, similarity: float) -> bool:
    """Whether words alone decide about texts that nothing holds apart.

    Args:
        found: Their alignment by words.
        similarity: Cosine of the texts on the reference scale, 0 if not known.
    """
    if found.two_sided or (found.faint and similarity < _SAME_WORDS_ASIDE):
        return False
    if found.tense or (found.only_a or found.only_b):
        return not found.tense and found.superset is not None
    return found.ordered


# ------------------------------------------------------------------ nothing or one side left over


def _held(case: Case, a: Facts, b: Facts, found: Comparison) -> Verdict | None:
    """What keeps apart texts of which at least one says all the other says."""
    if a.signs != b.signs and len(a.tokens) < _LIST_LENGTH:
        difference = Difference(DifferenceKind.NUMBER, a.signs, b.signs)
        return Unsure(case.evidence("sign-or-bullet", difference, veto=True))
    lasting = a.stative and b.stative and not a.relative
    if a.stamps and b.stamps and a.stamps != b.stamps and not lasting:
        difference = Difference(DifferenceKind.DATE, a.stamps, b.stamps)
        return Unsure(case.evidence("captured-at-other-times", difference, veto=True))
    if found.opposites:
        difference = _pairs(DifferenceKind.POLARITY, found.opposites)
        return Contradiction(case.evidence("polarity-differs", difference, veto=True))
    if _in_step(a, b) and _agent(a) != _agent(b):
        difference = Difference(DifferenceKind.ORDER, _texts(a.tokens), _texts(b.tokens))
        return Contradiction(case.evidence("roles-differ", difference, veto=True))
    if (exchanged := _exchanged(case, a, b)) is not None:
        return exchanged
    if found.cased:
        return Sibling(
            case.evidence("case-differs", _pairs(DifferenceKind.IDENTIFIER, found.cased), veto=True)
        )
    if found.directed:
        return Unsure(
            case.evidence(
                "direction-differs", _pairs(DifferenceKind.ORDER, found.directed), veto=True
            )
        )
    if found.tense and fuzz.ratio(case.a.content, case.b.content) >= _SAME_WORDING:
        difference = Difference(DifferenceKind.MODALITY, tuple(a.times), tuple(b.times))
        return Unsure(case.evidence("tense-differs", difference, veto=True))
    if not found.only_a and not found.only_b and not found.ordered and _glue(a) == _glue(b):
        difference = Difference(DifferenceKind.ORDER, _texts(a.tokens), _texts(b.tokens))
        return Contradiction(case.evidence("order-differs", difference, veto=True))
    return None


def _exchanged(case: Case, a: Facts, b: Facts) -> Verdict | None:
    """The same things, of which others are said: behind another label, or denied."""
    if moved := relabelled(a, b) or told_apart(a, b):
        difference = Difference(DifferenceKind.ORDER, *moved)
        return Contradiction(case.evidence("roles-differ", difference, veto=True))
    if "ja" in {a.language, b.language}:  # what is denied stands before, and there may be much
        return None
    both = a.counts.keys() & b.counts.keys()
    not_a, not_b = denied(a) & both, denied(b) & both
    if not_a - not_b and not_b - not_a:
        said = tuple(sorted(not_a - not_b)), tuple(sorted(not_b - not_a))
        difference = Difference(DifferenceKind.NEGATION, *said)
        return Contradiction(case.evidence("denies-another", difference, veto=True))
    return None


def _in_step(a: Facts, b: Facts) -> bool:
    """Whether the same things are told in the same order."""
    return [token.key for token in a.tokens] == [token.key for token in b.tokens]


def _agent(facts: Facts) -> bool:
    """Whether someone does what is told in the passive: `by Anna`, not `by 12 %`."""
    agent = facts.lexicon.sets["agent"]
    return facts.passive and any(
        t.kind in _AGENTS and agent & {*t.glue.split()} and not t.text.endswith("ing")
        for t in facts.tokens
    )


def _glue(facts: Facts) -> list[str]:
    """Small words between the tokens, articles aside, sorted."""
    articles = facts.lexicon.sets["articles"]
    return sorted(w for token in facts.tokens for w in token.glue.split() if w not in articles)


def _pairs(kind: DifferenceKind, pairs: Sequence[tuple[str, str]]) -> Difference:
    return Difference(kind, tuple(one for one, _ in pairs), tuple(other for _, other in pairs))


def _texts(tokens: Sequence[Token]) -> tuple[str, ...]:
    return tuple(token.text for token in tokens)
