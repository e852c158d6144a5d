"""Opinions: a model asked about pairs the judge is unsure of. It proposes; a veto stands."""

from __future__ import annotations

from echoless.matching.verifiers.base import NoOpinion as NoOpinion
from echoless.matching.verifiers.base import Opinion as Opinion
from echoless.matching.verifiers.base import Reply as Reply
from echoless.matching.verifiers.base import Says as Says
from echoless.matching.verifiers.base import Verifier as Verifier
from echoless.matching.verifiers.base import open_verifier as open_verifier
