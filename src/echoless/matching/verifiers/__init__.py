"""Opinions: a model asked about pairs the judge is unsure of. It proposes; a veto stands."""

from __future__ import annotations

from echoless.matching.verifiers.base import NoOpinion, NotAsked, Opinion, Reply, Says, Verifier
from echoless.matching.verifiers.registry import open_verifier

__all__ = ["NoOpinion", "NotAsked", "Opinion", "Reply", "Says", "Verifier", "open_verifier"]
