"""Makes offers of pairs: the verdict of the judge, what can be done, and which memory to keep.

Pure: made of findings; nothing is read or written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal, NamedTuple, TypeAlias, assert_never

from echoless.clustering import survivor as survivors
from echoless.clustering.folding import PRIOR_SURVIVOR
from echoless.clustering.grouping import SAME_BYTES, SAME_TEXT
from echoless.clustering.noise_score import levelled
from echoless.core.groups import Group, Membership
from echoless.core.model import (
    Contradiction,
    Distinct,
    Duplicate,
    Json,
    Judged,
    Memory,
    Related,
    Sibling,
    Subsumes,
    Unsure,
    Update,
    Verdict,
    flipped,
    later,
    richer,
    verdict_name,
)
from echoless.core.secrets import uncut
from echoless.workflows.consolidation.recency import Window, recent_first
from echoless.workflows.dedupe.findings import Findings

Advice: TypeAlias = Literal["merge", "keep_both", "look"]
"""What the verdict suggests: both say the same; both hold; somebody has to look."""

ADVICE: Final[tuple[Advice, ...]] = ("merge", "look", "keep_both")


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Two memories that may say the same.

    Attributes:
        a: With a window the recent one (of two recent ones the more recent, then the smaller id);
            else the one with the smaller id.
        b: The other.
        verdict: What the judge says of them, with a on side a.
        advice: What follows from the verdict.
        keep: Which of the two a merge had better keep; None where a merge would hide one that may
            not be hidden.
        why: Reason for the survivor, or for having none, as a half sentence.
    """

    a: Memory
    b: Memory
    verdict: Verdict
    advice: Advice
    keep: str | None
    why: str

    @property
    def similarity(self) -> float:
        """Returns the similarity, 0 to 1, by the detector that saw them closest."""
        return self.verdict.evidence.similarity

    @property
    def how(self) -> str:
        """Returns the name of that detector."""
        return self.verdict.evidence.how

    @property
    def remove(self) -> str | None:
        """Returns the one a merge had better hide, or None."""
        if self.keep is None:
            return None
        return self.b.id if self.keep == self.a.id else self.a.id

    def to_json(self, *, characters: int | None = None) -> dict[str, Json]:
        """Returns the offer as in `consolidate --json`.

        Args:
            characters: Cut both texts to so many; whole texts by default.
        """
        verdict = self.verdict
        difference = verdict.evidence.difference
        merge: Json = {"keep": self.keep, "remove": self.remove, "why": self.why}
        return {
            "a": self.a.id,
            "b": self.b.id,
            "text_a": self.a.content[: _end(self.a.content, characters)],
            "text_b": self.b.content[: _end(self.b.content, characters)],
            "namespace": self.a.namespace,
            "similarity": self.similarity,
            "chance": verdict.evidence.chance,
            "how": self.how,
            "verdict": verdict_name(verdict),
            "evidence": verdict.evidence.line(),
            "difference": difference.value if difference else None,
            "superset": verdict.superset if isinstance(verdict, Subsumes) else None,
            "newer": verdict.newer if isinstance(verdict, Update) else None,
            "advice": self.advice,
            "merge": None if self.keep is None else merge,
            "no_merge": self.why if self.keep is None else None,
        }


# ------------------------------------------------------------------ pairs


class Pairing(NamedTuple):
    """A pair of ids, smaller first, that sorts: what may be merged first, closest first, by ids.

    Attributes:
        rank: Place of the advice in `ADVICE`.
        distance: 1 - similarity.
        a: The smaller id.
        b: The larger id.
        verdict: With a on side a; never reached by a comparison.
    """

    rank: int
    distance: float
    a: str
    b: str
    verdict: Verdict


def _pair(one: str, other: str, verdict: Verdict) -> Pairing:
    """Returns a pair from a verdict with `one` on side a."""
    place = (ADVICE.index(advice_on(verdict)), 1.0 - verdict.evidence.similarity)
    if one < other:
        return Pairing(*place, one, other, verdict)
    return Pairing(*place, other, one, flipped(verdict))


@dataclass(frozen=True, slots=True)
class OfferSource:
    """The findings of a run, arranged for offers.

    Attributes:
        findings: From `find`.
        recent: The window, or None.
        classes: Members of each class of copies, the one shown first, by the one that was judged.
        stands_for: The one that was judged, by member.
        answered: Judged pairs of which some copies are kept apart.
        copied: The verdict on two copies.
    """

    findings: Findings
    recent: Window | None
    classes: Mapping[str, tuple[str, ...]]
    stands_for: Mapping[str, str]
    answered: frozenset[frozenset[str]]
    copied: Duplicate

    def judged(self) -> Iterator[Pairing]:
        """Yields pairs of different texts; an answer about two texts holds for their copies."""
        for each in self.findings.judged:
            if isinstance(each.verdict, Distinct) or {each.a, each.b} in self.answered:
                continue
            shown = self.classes[each.a][0], self.classes[each.b][0]
            yield _pair(*shown, each.verdict)

    def copies(self) -> Iterator[Pairing]:
        """Yields each copy with the best recent copy before it, except pairs kept apart."""
        memories, apart, recent = self.findings.memories, self.findings.apart, self.recent
        for ids in self.classes.values():
            # the recent ones stand first in `ids`
            late = [id_ for id_ in ids if recent is None or recent.holds(memories[id_])]
            for at, id_ in enumerate(ids):
                for other in islice(late, at):
                    if (min(id_, other), max(id_, other)) not in apart:
                        yield _pair(other, id_, self.copied)
                        break

    def offer(self, pair: Pairing) -> Offer:
        """Returns what is shown of a pair."""
        memories = self.findings.memories
        keep, why = _survivor(self.findings, pair)
        a, b, verdict = memories[pair.a], memories[pair.b], pair.verdict
        if self.recent is not None and recent_first([a, b], self.recent.holds)[0] is b:
            a, b, verdict = b, a, flipped(verdict)
        return Offer(a=a, b=b, verdict=verdict, advice=advice_on(verdict), keep=keep, why=why)


def offer_source(findings: Findings, recent: Window | None) -> OfferSource:
    """Puts the members of each class of copies in the order in which they are shown.

    Args:
        findings: From `find`, with the same window.
        recent: The window, or None for the whole store.
    """
    classes: dict[str, tuple[str, ...]] = {}
    for rep, ids in findings.copies.items():
        classes[rep] = ids
        if len(ids) > 1:
            memories = [findings.memories[id_] for id_ in ids]
            if recent is None:
                classes[rep] = tuple(_ranked(findings, memories))
            else:
                classes[rep] = tuple(m.id for m in recent_first(memories, recent.holds))
    stands_for = {id_: rep for rep, ids in classes.items() for id_ in ids}
    answered = (frozenset(stands_for.get(id_, id_) for id_ in pair) for pair in findings.apart)
    bytes_only = findings.settings.profile.folding == "bytes"
    return OfferSource(
        findings,
        recent,
        classes,
        stands_for,
        frozenset(pair for pair in answered if len(pair) == 2),
        SAME_BYTES if bytes_only else SAME_TEXT,
    )


# ------------------------------------------------------------------ what can be done


def _ranked(findings: Findings, memories: Sequence[Memory]) -> list[str]:
    """Returns ids, best survivor first, with all protected memories before the others."""
    profile = findings.settings.profile
    prior = {id_ for id_, why in findings.protected.items() if why == PRIOR_SURVIVOR}
    order = survivors.rank(memories, profile.survivor, prior, profile.junk)
    return sorted(order, key=lambda id_: id_ not in findings.protected)


def _survivor(findings: Findings, pair: Pairing) -> tuple[str | None, str]:
    """Returns which of two a merge had better keep, and why; None, and why, if it may not be."""
    profile = findings.settings.profile
    memories, protected = findings.memories, findings.protected
    (judged,) = levelled([Judged(pair.a, pair.b, pair.verdict)], memories, profile.junk)
    verdict = judged.verdict
    side = verdict.newer if isinstance(verdict, Update) else richer(verdict)
    if side is not None:
        keep, other = (pair.a, pair.b) if side == "a" else (pair.b, pair.a)
        if other in protected:
            return None, f"{other} is to stay visible: {protected[other]}"
        return keep, _SAYS[Update if isinstance(verdict, Update) else Subsumes]
    match verdict:
        case Contradiction() if written := later(memories[pair.a], memories[pair.b]):
            keep, other = (pair.a, pair.b) if written == "a" else (pair.b, pair.a)
            if other not in protected:
                return keep, _SAYS[Contradiction]
            keep, other = other, keep
        case _:
            keep, other = _ranked(findings, [memories[pair.a], memories[pair.b]])
    if keep in protected:
        return keep, protected[keep]
    group = Group(keep, (Membership(other, judged),))
    return keep, survivors.why(
        group, memories.__getitem__, profile.survivor, frozenset(), profile.junk
    )


_SAYS: Final[Mapping[type, str]] = {
    Subsumes: "says everything the other says, and more",
    Update: "says the newer value",
    Contradiction: "written later",
}


def advice_on(verdict: Verdict) -> Advice:
    """Returns what a verdict suggests to do."""
    match verdict:
        case Duplicate() | Subsumes():
            return "merge"
        case Sibling() | Related() | Distinct():
            return "keep_both"
        case Update() | Contradiction() | Unsure():
            return "look"
        case _:
            assert_never(verdict)


def _end(text: str, characters: int | None) -> int | None:
    """Returns where a text is cut; not inside a secret, which could not be masked any more."""
    return None if characters is None else uncut(text, characters)
