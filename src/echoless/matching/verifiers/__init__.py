"""Opinions: a model asked about pairs the judge is unsure of. It proposes; a veto stands."""

from __future__ import annotations

from echoless.matching.verifiers.consultation import NoOpinion as NoOpinion
from echoless.matching.verifiers.consultation import Opinion as Opinion
from echoless.matching.verifiers.consultation import Reply as Reply
from echoless.matching.verifiers.consultation import Says as Says
from echoless.matching.verifiers.consultation import Verifier as Verifier
from echoless.matching.verifiers.consultation import open_verifier as open_verifier
