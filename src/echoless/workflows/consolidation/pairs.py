"""Offers pairs of memories that may say the same to an agent or a person, mergeable ones first.

Detectors propose, the judge gives a verdict on each pair and names the difference, and the offer
says what can be done with it. Nothing is written: `merge_pairs` acts on an answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from heapq import nsmallest
from itertools import chain
from typing import Final

from echoless.core.errors import UsageError
from echoless.core.model import Json, verdict_name
from echoless.core.run_notes import Progress
from echoless.core.settings import Settings
from echoless.stores.base import Store
from echoless.workflows.consolidation.recency import window_of
from echoless.workflows.consolidation.suggestions import (
    ADVICE,
    Advice,
    Offer,
    OfferSource,
    Pairing,
    advice_on,
    offer_source,
)
from echoless.workflows.dedupe.findings import Findings
from echoless.workflows.dedupe.pipeline import find

__all__ = ["LIMIT", "Advice", "Consolidation", "Offer", "consolidate"]

LIMIT: Final = 10
"""Number of pairs in one offer: as many as a person can look at in one go."""

NEITHER: Final = "neither may be hidden"
"""Reason in the tally: both are pinned, protected or survivors of earlier runs."""


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
        findings: What it was made of, for `plan` and `plan_consolidation`.
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
        """Returns the answer of `consolidate --json`; see `docs/cli.md`.

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
        touching=recent.holds if recent else None,
        progress=progress,
    )
    source = offer_source(findings, recent)
    verdicts: Counter[str] = Counter()
    pairs = _counted(source, frozenset(advice), verdicts)
    # at least one is asked for, as nsmallest counts nothing where it is to give nothing
    ordered = sorted(pairs) if limit is None else nsmallest(max(1, limit), pairs)[:limit]
    return Consolidation(
        url=findings.url,
        window=window,
        pairs=tuple(source.offer(pair) for pair in ordered),
        total=verdicts.total(),
        verdicts={name: verdicts[name] for name in sorted(verdicts)},
        skipped=findings.tally.skipped,
        notes=findings.tally.notes,
        findings=findings,
    )


def _counted(
    source: OfferSource, advice: Collection[Advice], verdicts: Counter[str]
) -> Iterator[Pairing]:
    """Yields the pairs that come to such an advice, and counts their verdicts.

    Pairs of which neither may be hidden go to the tally.
    """
    for pair in chain(source.judged(), source.copies()):
        if {pair.a, pair.b} <= source.findings.protected.keys():
            source.findings.tally.skip(NEITHER, pair.a, pair.b)
        elif advice_on(pair.verdict) in advice:
            verdicts[verdict_name(pair.verdict)] += 1
            yield pair
