"""Items of a review made of the pairs that `consolidate` offers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from echoless.core.model import Judged, flipped
from echoless.core.run_notes import Progress
from echoless.core.settings import Settings
from echoless.stores.base import Store
from echoless.workflows.consolidation.pairs import Advice, Offer, consolidate
from echoless.workflows.review.answers import standing_answers
from echoless.workflows.review.items import Reviewed, ReviewItem, pair_item


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedPairs:
    """Source of a review that asks about the pairs of `consolidate`, in its order.

    Attributes:
        window: As for `consolidate`.
        limit: Pairs without an answer that are asked about at most.
        advice: As for `consolidate`.
    """

    window: float | None
    limit: int
    advice: Collection[Advice]

    def __call__(self, store: Store, settings: Settings, progress: Progress | None) -> Reviewed:
        """Returns the findings and an item for each pair; those with an answer do not count."""
        answered = standing_answers(store.ledger).keys()
        offered = consolidate(
            store,
            settings,
            window=self.window,
            limit=self.limit + len(answered),
            advice=self.advice,
            progress=progress,
        )
        items, unanswered = [], 0
        for item in map(_item, offered.pairs):
            unanswered += item.key not in answered
            if item.key in answered or unanswered <= self.limit:
                items.append(item)
        return offered.findings, tuple(items)


def _item(offer: Offer) -> ReviewItem:
    """Returns the item of an offered pair, of which a merge may have a proposed survivor."""
    pair = Judged(offer.a.id, offer.b.id, offer.verdict)
    if offer.b.id < offer.a.id:
        pair = Judged(offer.b.id, offer.a.id, flipped(offer.verdict))
    return pair_item(offer.a, offer.b, pair, survivor=offer.keep or "", why=offer.why)
