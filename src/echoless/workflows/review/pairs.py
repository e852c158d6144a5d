"""Offers pairs of memories that may say the same to an agent, mergeable ones first.

Detectors propose, the judge gives a verdict on each pair and names the difference, and the offer
says which memory a merge had better keep. Nothing is written: `merge_pairs` acts on an answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Final, TypeAlias

from echoless.clustering import survivor as survivors
from echoless.clustering.grouping import SAME_BYTES, SAME_TEXT
from echoless.clustering.noise_score import levelled
from echoless.core.errors import UsageError
from echoless.core.groups import PRIOR_SURVIVOR, Group, Membership
from echoless.core.model import (
    Contradiction,
    Distinct,
    Json,
    Judged,
    Memory,
    Update,
    judged_as,
    later,
    richer,
    verdict_name,
)
from echoless.core.run_notes import Progress
from echoless.core.settings import Settings
from echoless.core.timestamps import instant
from echoless.stores.base import Store
from echoless.workflows.dedupe.findings import Findings
from echoless.workflows.dedupe.pipeline import find
from echoless.workflows.review.items import ADVICE, Advice, Offer, advice_on, offer

LIMIT: Final = 10
"""Pairs offered at a time: as many as one can look at in one go."""

NEITHER: Final = "neither may be hidden"
"""Reason in the tally: both are pinned, protected or survivors of earlier runs."""

Window: TypeAlias = Callable[[Memory], bool]
"""Checks whether a memory is a recent one."""

_HOUR: Final = 3600 * 10**9
_LONGEST: Final = 10.0**7
"""Hours; more than a thousand years is all there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidation:
    """The pairs offered, and what a run says of the others; nothing was written.

    Attributes:
        url: The store.
        window: Hours, or None for the whole store.
        pairs: Those to merge, to look at, then to keep; of each the closest first, ties by the ids.
        total: How many pairs there are in all.
        verdicts: How many of all got which verdict.
        skipped: Ids of memories that were left out, by the reason.
        notes: Sentences about the run as a whole.
        findings: What it was made of, for `plan`.
    """

    url: str
    window: float | None
    pairs: tuple[Offer, ...]
    total: int
    verdicts: Mapping[str, int]
    skipped: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]
    findings: Findings = field(repr=False)

    @property
    def left_out(self) -> int:
        """Returns how many pairs are beyond the limit."""
        return self.total - len(self.pairs)

    @property
    def unjudged(self) -> int:
        """Returns how many pairs the detectors proposed beyond their budget; nobody judged them."""
        return self.findings.left_out

    def to_json(self, *, characters: int | None = None) -> dict[str, Json]:
        """Returns the answer of `memory_consolidate`; see `docs/mcp.md`.

        Args:
            characters: Cut texts to so many; whole texts by default.
        """
        return {
            "store": self.url,
            "profile": self.findings.settings.profile.name,
            "window": self.window,
            "pairs": [each.to_json(characters=characters) for each in self.pairs],
            "total": self.total,
            "left_out": self.left_out,
            "unjudged": self.unjudged,
            "verdicts": dict(self.verdicts),
            "skipped": {reason: list(ids) for reason, ids in self.skipped.items()},
            "notes": list(self.notes),
        }


def consolidate(
    store: Store,
    settings: Settings | None = None,
    *,
    window: float | None = None,
    limit: int | None = LIMIT,
    advice: Collection[Advice] = ADVICE,
    now: datetime | None = None,
    profile: str | None = None,
    encoder: str | None = None,
    namespace: str | None = None,
    verifier: str | None = None,
    progress: Progress | None = None,
) -> Consolidation:
    """Offers pairs that may say the same, those to merge first; reads only.

    Every pair the detectors of the profile propose counts, but for those the judge finds distinct,
    those kept apart with `keep_both` while neither text changed, and those of which neither may be
    hidden. What stands hidden already is not looked at. Of more than two copies of one text each is
    paired with one other.

    Args:
        store: Any open store.
        settings: Complete settings; `profile` and what follows are a shorter way to them.
        window: Hours, above 0: only pairs with a memory made in them; the whole store by default.
        limit: Offer at most so many pairs, at least 0; None offers all.
        advice: Only pairs that come to such an advice; all by default.
        now: End of the window; the present by default, without an offset UTC.
        profile: As for `find`.
        encoder: As for `find`.
        namespace: As for `find`.
        verifier: As for `find`.
        progress: As for `find`.

    Raises:
        UsageError: A number is out of range, or as for `find`.
        InputError: As for `find`.
        EncoderError: As for `find`.
        VerifierError: As for `find`.
    """
    if limit is not None and limit < 0:
        raise UsageError(f"The limit must be a whole number from 0, not {limit!r}.")
    unknown = sorted(set(advice) - set(ADVICE))
    if unknown:
        raise UsageError(f"Unknown advice {unknown[0]!r}. Known: {', '.join(ADVICE)}.")
    recent = None if window is None else window_of(window, now)
    findings = find(
        store,
        settings,
        profile=profile,
        encoder=encoder,
        namespace=namespace,
        verifier=verifier,
        touching=recent,
        progress=progress,
    )
    verdicts: Counter[str] = Counter()
    pairs = _counted(findings, recent, frozenset(advice), verdicts)
    ordered = sorted(pairs, key=_first)[:limit]
    return Consolidation(
        url=findings.url,
        window=window,
        pairs=tuple(_offer(findings, recent, pair) for pair in ordered),
        total=verdicts.total(),
        verdicts={name: verdicts[name] for name in sorted(verdicts)},
        skipped=findings.tally.skipped,
        notes=findings.tally.notes,
        findings=findings,
    )


# ------------------------------------------------------------------ which pairs, in which order


def _counted(
    findings: Findings, recent: Window | None, advice: Collection[Advice], verdicts: Counter[str]
) -> Iterator[Judged]:
    """Yields the pairs that come to such an advice, and counts their verdicts.

    Pairs of which neither may be hidden go to the tally.
    """
    classes = _classes(findings, recent)
    for pair in chain(_texts(findings, classes), _copies(findings, classes, recent)):
        if {pair.a, pair.b} <= findings.protected.keys():
            findings.tally.skip(NEITHER, pair.a, pair.b)
        elif advice_on(pair.verdict) in advice:
            verdicts[verdict_name(pair.verdict)] += 1
            yield pair


def _first(pair: Judged) -> tuple[int, float, str, str]:
    """Returns a sorting key: by advice, the closest first, then by the ids."""
    verdict = pair.verdict
    return ADVICE.index(advice_on(verdict)), 1.0 - verdict.evidence.similarity, pair.a, pair.b


def _classes(findings: Findings, recent: Window | None) -> dict[str, tuple[str, ...]]:
    """Returns the copies of each text, by the one that was judged; the first one is shown."""
    classes = dict(findings.copies)
    for rep, ids in classes.items():
        if len(ids) > 1:
            memories = [findings.memories[id_] for id_ in ids]
            if recent is None:
                classes[rep] = tuple(_ranked(findings, memories))
            else:
                classes[rep] = tuple(m.id for m in recent_first(memories, recent))
    return classes


def _texts(findings: Findings, classes: Mapping[str, tuple[str, ...]]) -> Iterator[Judged]:
    """Yields pairs of different texts; an answer about two texts holds for their copies."""
    stands_for = {id_: rep for rep, ids in classes.items() for id_ in ids}
    answered = {frozenset(stands_for.get(id_, id_) for id_ in pair) for pair in findings.apart}
    for each in findings.judged:
        if not isinstance(each.verdict, Distinct) and {each.a, each.b} not in answered:
            yield judged_as(classes[each.a][0], classes[each.b][0], each.verdict)


def _copies(
    findings: Findings, classes: Mapping[str, tuple[str, ...]], recent: Window | None
) -> Iterator[Judged]:
    """Yields each copy with the best recent one before it that it is not kept apart from."""
    copied = SAME_BYTES if findings.settings.profile.folding == "bytes" else SAME_TEXT
    for ids in classes.values():
        # the recent ones stand first in `ids`
        late = [id_ for id_ in ids if recent is None or recent(findings.memories[id_])]
        for at, id_ in enumerate(ids):
            for other in islice(late, at):
                if (min(id_, other), max(id_, other)) not in findings.apart:
                    yield judged_as(other, id_, copied)
                    break


# ------------------------------------------------------------------ what can be done with a pair


def _offer(findings: Findings, recent: Window | None, pair: Judged) -> Offer:
    """Returns a pair with the memory a merge had better keep, the recent one first."""
    a, b = findings.memories[pair.a], findings.memories[pair.b]
    if recent is not None:
        a, b = recent_first([a, b], recent)
    return offer(a, b, pair, *_survivor(findings, pair))


def _survivor(findings: Findings, pair: Judged) -> tuple[str, str]:
    """Returns which of two a merge had better keep, and why; none, and why, if it may not be."""
    profile = findings.settings.profile
    memories, protected = findings.memories, findings.protected
    (judged,) = levelled([pair], memories)
    verdict = judged.verdict
    side = verdict.newer if isinstance(verdict, Update) else richer(verdict)
    if side is not None:
        keep, other = (pair.a, pair.b) if side == "a" else (pair.b, pair.a)
        if other in protected:
            return "", f"{other} is to stay visible: {protected[other]}"
        newer = isinstance(verdict, Update)
        return keep, "says the newer value" if newer else _SAYS_MORE
    match verdict:
        case Contradiction() if written := later(memories[pair.a], memories[pair.b]):
            keep, other = (pair.a, pair.b) if written == "a" else (pair.b, pair.a)
            if other not in protected:
                return keep, "written later"
            keep, other = other, keep
        case _:
            keep, other = _ranked(findings, [memories[pair.a], memories[pair.b]])
    if keep in protected:
        return keep, protected[keep]
    group = Group(keep, (Membership(other, judged),))
    order = survivors.Standing(profile.survivor, frozenset())
    return keep, survivors.why(group, memories.__getitem__, order)


_SAYS_MORE: Final = "says everything the other says, and more"


def _ranked(findings: Findings, memories: Sequence[Memory]) -> list[str]:
    """Sorts ids by survivor rank; protected memories come first."""
    profile = findings.settings.profile
    prior = {id_ for id_, why in findings.protected.items() if why == PRIOR_SURVIVOR}
    order = survivors.rank(memories, profile.survivor, prior)
    return sorted(order, key=lambda id_: id_ not in findings.protected)


# ------------------------------------------------------------------ recent memories


def window_of(hours: float, now: datetime | None = None) -> Window:
    """Returns what checks whether a memory was made in the last hours; False without a time.

    Args:
        hours: Above 0; its first moment is recent.
        now: The present by default; without an offset it is UTC.

    Raises:
        UsageError: The number of hours is not above 0.
    """
    if not hours > 0:
        raise UsageError(f"The window must be a number of hours above 0, not {hours!r}.")
    moment = instant((now or datetime.now(UTC)).isoformat()) or 0
    cutoff = moment - int(min(hours, _LONGEST) * _HOUR)

    def recent(memory: Memory) -> bool:
        made = instant(memory.created_at)
        return made is not None and made >= cutoff

    return recent


def recent_first(memories: Sequence[Memory], recent: Window) -> list[Memory]:
    """Returns memories sorted: recent ones first, the most recent before others, then by id."""

    def key(memory: Memory) -> tuple[bool, int, str]:
        is_recent = recent(memory)
        return not is_recent, -(instant(memory.created_at) or 0) if is_recent else 0, memory.id

    return sorted(memories, key=key)
