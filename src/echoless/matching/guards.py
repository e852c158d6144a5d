"""The judges that profiles name: by rules, or by a similarity with guards before the merge.

The latter are for profiles that take over an existing system with its own threshold. `GuardJudge`
merges similar texts unless their numbers or their negations differ, or the rules call them two
values or two things. `ContainmentJudge` also holds a pair of which one text contains the other
whole: a copy with a tail of junk, and a copy with a fact more, look the same to a vector. Where
length decides who survives, the junk would win; so such a pair goes to a person.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import replace
from functools import lru_cache
from typing import Final

from rapidfuzz import fuzz

from echoless.core.eligibility import leads
from echoless.core.errors import UsageError
from echoless.core.model import (
    FILE,
    IN_OTHER_WORDS,
    Contradiction,
    Difference,
    DifferenceKind,
    Duplicate,
    Evidence,
    Memory,
    Pair,
    Related,
    Sibling,
    Unsure,
    Update,
    Verdict,
    later,
    merges,
    under,
)
from echoless.core.text import lazy_pattern, loose
from echoless.core.timestamps import day_named
from echoless.matching import Judge
from echoless.matching.fields import is_statement, limits, stand_alike
from echoless.matching.rule_judge import COUNTED, RuleJudge, newer_of, tells_change

_SHARED: Final = 62
"""Minimum word overlap (`rapidfuzz.fuzz.token_set_ratio`, 0 to 100, inclusive) for accepting
"contains" across different headings. Of eight such pairs read the wrong ones have at most 56, the
right ones at least 64."""

_NUMBER: Final = lazy_pattern(r"\d+(?:[.,:/-]\d+)*")
_WORD: Final = lazy_pattern(r"\w+(?:'\w+)*")
_NEGATIONS: Final = frozenset(
    {
        "not", "never", "no", "none", "neither", "nor", "cannot", "without", "nicht", "kein",
        "keine", "keinen", "keinem", "keiner", "keines", "nie", "niemals", "weder", "ohne",
        "cant", "wont", "dont", "doesnt", "didnt", "shouldnt", "wouldnt", "couldnt", "isnt",
        "arent", "wasnt", "werent", "hasnt", "havent", "hadnt",
    }
)  # fmt: skip


@lru_cache(maxsize=65_536)
def numbers(text: str) -> tuple[str, ...]:
    """Returns numeric tokens as written after NFKC, in order."""
    return tuple(_NUMBER.findall(unicodedata.normalize("NFKC", text)))


@lru_cache(maxsize=65_536)
def negations(text: str) -> tuple[str, ...]:
    """Returns negation words, lower-cased, apostrophes dropped, in order."""
    flat = unicodedata.normalize("NFKC", text).lower().replace("’", "'").replace("‘", "'")
    # Every contraction counts, also the rare ones (`needn't`) that have no entry of their own.
    return tuple(
        word
        for word in _WORD.findall(flat)
        if word.endswith("n't") or word.replace("'", "") in _NEGATIONS
    )


class GuardJudge(Judge):
    """Trusts the similarity: every candidate is a duplicate unless a guard holds it.

    The number guard holds a pair whose multisets of numeric tokens differ, the negation guard one
    in which the number of negation words is even on one side and odd on the other. What the judge
    by rules calls an update, a contradiction or a sibling is held too. Byte-identical texts pass
    all three by nature.
    """

    def __init__(self, *, guards: bool = True) -> None:
        """Makes a judge.

        Args:
            guards: False trusts the similarity alone, as the programs that are taken over do.
        """
        self._guards = guards
        self._rules = RuleJudge()

    def judge(self, pair: Pair) -> Verdict:
        """Gives the verdict with its evidence."""
        how, similarity = pair.best
        if self._guards:
            held = _held(pair, how, similarity)
            if held is not None:
                return held
            verdict = self._rules.judge(pair)
            if isinstance(verdict, Update | Contradiction | Sibling):
                return verdict
        rule = "same-text" if pair.a.content == pair.b.content else "similar-enough"
        return Duplicate(Evidence(rule, how, similarity))


def _held(pair: Pair, how: str, similarity: float) -> Verdict | None:
    one, other = numbers(pair.a.content), numbers(pair.b.content)
    left, right = Counter(one) - Counter(other), Counter(other) - Counter(one)
    if left or right:
        difference = Difference(
            DifferenceKind.NUMBER, tuple(left.elements()), tuple(right.elements())
        )
        return Sibling(Evidence("number-guard", how, similarity, (difference,)))
    denied, denied_too = negations(pair.a.content), negations(pair.b.content)
    if len(denied) % 2 != len(denied_too) % 2:
        difference = Difference(DifferenceKind.NEGATION, denied, denied_too)
        return Contradiction(Evidence("negation-guard", how, similarity, (difference,)))
    return None


class ContainmentJudge(Judge):
    """Another judge, but a pair it would merge is held if one text holds the other and more."""

    def __init__(self, inner: Judge) -> None:
        """Puts the hold before a judge.

        Args:
            inner: Decides first; only what it would merge is looked at.
        """
        self._inner = inner

    def judge(self, pair: Pair) -> Verdict:
        """Gives the verdict with its evidence."""
        verdict = self._inner.judge(pair)
        added = _containment(pair) if merges(verdict) else None
        if added is None:
            return verdict
        how, similarity = pair.best
        return Unsure(Evidence("containment", how, similarity, (added,)))


def _containment(pair: Pair) -> Difference | None:
    """Returns what the longer text has around the shorter one; None if neither holds the other."""
    a, b = loose(pair.a.content), loose(pair.b.content)
    short, long = sorted((a, b), key=len)
    if a == b or short not in long:
        return None
    around = tuple(filter(None, map(str.strip, long.split(short, 1))))
    return Difference(DifferenceKind.DETAIL, *(((), around) if short == a else (around, ())))


def in_place(a: Memory, b: Memory, verdict: Verdict) -> Verdict:
    """Returns the verdict on two memories with what they stand under, such as their headings.

    Two statements that say the same under headings that limit them are for a person; what differs
    there is another thing. Shorter texts, which their headings complete, are related. Under other
    headings the model's word that one says all of the other counts only where they share words
    (ADR 0036).

    Args:
        a: One memory.
        b: The other.
        verdict: On their texts alone.
    """
    conflict = isinstance(verdict, Update | Contradiction)
    if not (conflict or merges(verdict) or isinstance(verdict, Unsure)):
        return verdict
    partial = _leads_or_is_code(a) and _leads_or_is_code(b)
    if partial and loose(a.content) != loose(b.content):
        return Related(replace(verdict.evidence, rule="same-topic", veto=False))
    if conflict and of_its_day(a, b, verdict.evidence):
        return Sibling(replace(verdict.evidence, rule="of-its-day", veto=True))
    if stand_alike(a, b):
        return verdict
    heads = a.content in under(b) or b.content in under(a)
    if not heads and limits(a, whole=not conflict) == limits(b, whole=not conflict):
        shared = fuzz.token_set_ratio(a.content.casefold(), b.content.casefold())
        if verdict.evidence.rule == IN_OTHER_WORDS and shared < _SHARED:
            return Unsure(replace(verdict.evidence, rule="under-other-headings"))
        return verdict
    stated = is_statement(a.content) and is_statement(b.content)
    if stated and isinstance(verdict, Unsure):
        return verdict
    places = Difference(DifferenceKind.SCOPE, limits(a, whole=False), limits(b, whole=False))
    again = stated and not conflict and loose(a.content) != loose(b.content)
    sides = (places, *verdict.evidence.differences)
    held = replace(verdict.evidence, rule="under-other-headings", veto=not again, differences=sides)
    return (Unsure if again else Sibling if stated else Related)(held)


def _leads_or_is_code(memory: Memory) -> bool:
    """Returns whether a text of a file is code, or a line that leads the next ones."""
    text = memory.content.rstrip("*_ \n")
    code = FILE in memory.native and text.startswith("```") and text.endswith("```")
    return code or leads(memory)


def of_its_day(a: Memory, b: Memory, evidence: Evidence) -> bool:
    """Returns whether two lines of notes of a day tell what happened, not two values of a thing.

    So it is between lines of one such note, unless a figure differs that a word calls new. So it is
    between two reports of one name, and between clock times (`19:30`) of two days, unless the later
    line tells the change. Of 43 conflicts told of 43 public repositories none was right: 20 stood
    in one such note, 9 between two reports, 6 between clock times of two days.

    Args:
        a: One line, with its file in `native`; without one the answer is no.
        b: The other.
        evidence: Of a conflict between them, the deciding difference first.
    """
    day, second = (day_named(each.native.get(FILE)) for each in (a, b))
    if not day or not second:
        return False
    one, other = str(a.native[FILE]), str(b.native[FILE])
    report = one != other and not one.rpartition("/")[2].startswith(day)
    if report and one.replace(day, "") == other.replace(second, ""):
        return True  # `poll-2026-04-06.md`, `poll-2026-04-08.md`
    pair, first = Pair(a, b, {}), evidence.difference
    said = [each for d in evidence.differences[:1] for each in (*d.a, *d.b)]
    if first is DifferenceKind.DATE and any(":" in each for each in said):
        return not (tells_change(pair) and newer_of(pair) == later(a, b))
    figure = first in COUNTED and evidence.rule == f"{first}-differs"
    return one == other and not (figure and tells_change(pair))


def judge_named(name: str) -> Judge:
    """Returns the judge that a profile names, without the pair model.

    Args:
        name: `full` (compares what the texts say), `guards` (trusts the similarity but for the
            number and the negation guard), `guards+containment` (also holds a pair of which one
            text contains the other whole) or `bare` (trusts the similarity).

    Raises:
        UsageError: No judge has this name.
    """
    match name:
        case "full":
            return RuleJudge()
        case "guards":
            return GuardJudge()
        case "guards+containment":
            return ContainmentJudge(GuardJudge())
        case "bare":
            return GuardJudge(guards=False)
        case _:
            raise UsageError(
                f"there is no judge {name!r}; choose full, guards, guards+containment or bare"
            )
