"""Items of a review made of the pairs that `consolidate` offers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from echoless.core.model import Judged, flipped
from echoless.core.run_notes import Progress
from echoless.core.settings import Settings
from echoless.core.text import token_estimate
from echoless.stores.base import Store
from echoless.workflows.consolidation.pairs import Advice, Offer, consolidate
from echoless.workflows.review.answers import standing_answers
from echoless.workflows.review.items import ReviewItem, certainty_of, item_key
from echoless.workflows.review.session import Found


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedPairs:
    """Source of a review that asks about the pairs of `consolidate`, closest first.

    Attributes:
        window: As for `consolidate`.
        limit: Pairs without an answer that are asked about at most.
        advice: As for `consolidate`.
    """

    window: float | None
    limit: int
    advice: Collection[Advice]

    def __call__(self, store: Store, settings: Settings, progress: Progress | None) -> Found:
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
        items, left = [], self.limit
        for offer in offered.pairs:
            item = _item(offer)
            left -= item.key not in answered
            if left >= 0 or item.key in answered:
                items.append(item)
        return offered.findings, tuple(items)


def _item(offer: Offer) -> ReviewItem:
    """Returns the item of an offered pair, of which a merge may have a proposed survivor."""
    pair = Judged(offer.a.id, offer.b.id, offer.verdict)
    if offer.b.id < offer.a.id:
        pair = Judged(offer.b.id, offer.a.id, flipped(offer.verdict))
    return ReviewItem(
        key=item_key("unsure", [offer.a, offer.b]),
        kind="unsure",
        group_class=None,
        ids=(offer.a.id, offer.b.id),
        survivor=offer.keep or "",
        why=offer.why,
        verdicts={offer.a.id: pair, offer.b.id: pair},
        certainty=certainty_of(pair),
        tokens=min(token_estimate(offer.a.content), token_estimate(offer.b.content)),
        namespace=offer.a.namespace,
    )
