"""Rules that turn verdicts on a new text into an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from echoless.core.model import (
    Contradiction,
    DifferenceKind,
    Distinct,
    Duplicate,
    Memory,
    Subsumes,
    Unsure,
    Update,
    Verdict,
    merges,
    richer,
    verdict_name,
)
from echoless.core.timestamps import instant
from echoless.core.verdict_sentences import sentence
from echoless.ingest.outcomes import Match

LINKED: Final = 5
"""Related memories named in an answer, at most."""

VALUES: Final = frozenset(
    {
        DifferenceKind.NUMBER,
        DifferenceKind.DATE,
        DifferenceKind.VERSION,
        DifferenceKind.IDENTIFIER,
        DifferenceKind.PATH,
        DifferenceKind.NAME,
        DifferenceKind.UNIT,
    }
)
"""A text that has one of these and the memory has not brings news, however alike the two are."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Verdict on the new text (side a) and one memory (side b).

    Attributes:
        memory: The memory.
        verdict: With the new text on side a.
        shown: Id of the visible memory: the memory itself, or its survivor.
    """

    memory: Memory
    verdict: Verdict
    shown: str

    @property
    def match(self) -> Match:
        """Returns the memory in the form for an answer."""
        evidence = self.verdict.evidence
        return Match(
            self.memory.id,
            evidence.similarity,
            evidence.how,
            verdict_name(self.verdict),
            " ".join(evidence.line().split()),
            evidence.difference.value if evidence.difference else None,
            self.memory.content,
            evidence.chance,
            sentence(self.verdict, "the new text", self.memory.id),
        )

    @property
    def changed(self) -> tuple[str, ...]:
        """Returns the named differences, each as `kind: new | old`."""
        nothing = ("(nothing)",)
        return tuple(
            f"{each.kind.value}: {' '.join(each.a or nothing)} | {' '.join(each.b or nothing)}"
            for each in self.verdict.evidence.differences
        )


@dataclass(frozen=True, slots=True)
class Decided:
    """Decision on a new text.

    Attributes:
        kind: `known`, `updates`, `review` or `new`.
        about: For `known` the memory that says it, for `updates` the value in force and then older
            ones, for `review` all that are in doubt, for `new` what the text is related to.
    """

    kind: Literal["known", "updates", "review", "new"]
    about: tuple[Compared, ...]


def rule(compared: Sequence[Compared], *, review: bool) -> Decided:
    """Decides on a new text by the verdicts on it.

    Known goes before everything: one memory that says it all is enough. A text that says another
    value than an older memory is stored, never stopped: the new text is the newer one.

    Args:
        compared: In the order the detectors named them.
        review: Whether a doubt holds the text back.
    """
    known = [c for c in compared if says_it_all(c)]
    if known:
        first = min(known, key=lambda c: (not isinstance(c.verdict, Duplicate), *_closeness(c)))
        return Decided("known", (first,))
    updated = [c for c in compared if is_updated(c)]
    if updated:
        return Decided("updates", _newest_value(updated))
    doubtful = sorted((c for c in compared if _is_doubtful(c.verdict)), key=_closeness)
    if doubtful and review:
        return Decided("review", tuple(doubtful))
    near = (c for c in compared if not isinstance(c.verdict, Distinct))
    return Decided("new", tuple(sorted(near, key=_closeness)[:LINKED]))


def _newest_value(updated: Sequence[Compared]) -> tuple[Compared, ...]:
    """Returns the memory whose value is replaced, and then those with older values, newest first.

    Of several values of one thing the newest is the one in force. They are of one thing if the new
    text has the same other value against each; the closest memory says which thing it is about.

    Args:
        updated: Memories that the text updates.
    """
    closest = min(updated, key=_closeness)
    values = _new_values(closest)
    same = [each for each in updated if each is closest or values & _new_values(each)]
    return tuple(sorted(same, key=lambda c: (-(instant(c.memory.created_at) or 0), *_closeness(c))))


def _new_values(each: Compared) -> set[tuple[DifferenceKind, tuple[str, ...]]]:
    """Returns the values that the new text has instead of those of a memory, with their kinds."""
    if isinstance(each.verdict, Subsumes):
        return set()
    return {(d.kind, tuple(d.a)) for d in each.verdict.evidence.differences if d.a and d.b}


def says_it_all(each: Compared) -> bool:
    """Returns whether the memory says all the new text says."""
    verdict = each.verdict
    return merges(verdict) and (not isinstance(verdict, Subsumes) or verdict.superset == "b")


def is_updated(each: Compared) -> bool:
    """Returns whether the new text says another value, or all the memory says and more."""
    match each.verdict:
        case Contradiction():
            return True
        case Update(newer=side):
            return side == "a"
        case _:
            return richer(each.verdict) == "a" or _is_narrowed(each.verdict)


def _is_narrowed(verdict: Verdict) -> bool:
    """Returns whether the new text has a bound that the memory has not."""
    differences = verdict.evidence.differences
    return isinstance(verdict, Unsure) and any(
        each.kind is DifferenceKind.BOUND and each.a for each in differences
    )


def _is_doubtful(verdict: Verdict) -> bool:
    """Returns whether the memory is likely, not surely, to say the text, which has no new value."""
    evidence = verdict.evidence
    brings = any(each.kind in VALUES and each.a for each in evidence.differences)
    return (
        isinstance(verdict, Unsure)
        and not (evidence.veto or brings or _is_narrowed(verdict))
        and richer(verdict) != "a"  # it adds what the memory does not say
    )


def _closeness(each: Compared) -> tuple[float, int, str]:
    """Returns a key that sorts by similarity, then trust, highest first, and then by id."""
    return -each.verdict.evidence.similarity, -each.memory.provenance.trust, each.memory.id
