"""A page of a report as bytes, and back without loss."""

from __future__ import annotations

import json
import zlib
from dataclasses import astuple, fields
from typing import Any

from echoless.pages import Page, Share, ToldGroup, ToldMember, ToldPair
from echoless.series import Series


def packed(page: Page) -> bytes:
    """A page as bytes."""
    told: dict[str, Any] = {field.name: getattr(page, field.name) for field in fields(Page)}
    told["months"] = {month: astuple(share) for month, share in page.months.items()}
    told["groups"] = [
        [g.survivor, g.why, [[m.id, m.verdict, m.similarity, m.evidence] for m in g.members]]
        for g in page.groups
    ]
    told["held"] = [
        [p.a, p.b, p.verdict, p.difference, p.similarity, p.evidence] for p in page.held
    ]
    told["series"] = [[s.members, s.newest] for s in page.series]
    return zlib.compress(json.dumps(told, separators=(",", ":")).encode("ascii"), 1)


def unpacked(data: bytes) -> Page | None:
    """The page; None if it is none."""
    try:
        told: dict[str, Any] = json.loads(zlib.decompress(data))
        told["months"] = {month: Share(*share) for month, share in told["months"].items()}
        told["groups"] = tuple(
            [
                ToldGroup(survivor, why, tuple([ToldMember(*member) for member in members]))
                for survivor, why, members in told["groups"]
            ]
        )
        told["held"] = tuple([ToldPair(*pair) for pair in told["held"]])
        told["series"] = tuple([Series(tuple(ids), newest) for ids, newest in told["series"]])
        told["skipped"] = {reason: tuple(ids) for reason, ids in told["skipped"].items()}
        told["notes"], told["general"] = tuple(told["notes"]), tuple(told["general"])
        return Page(**told)
    except (zlib.error, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
