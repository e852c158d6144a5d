"""The learned pair model: whether one text holds what another says, and whether they conflict."""

from __future__ import annotations

from echoless.matching.pair_model.network import PairNetwork, open_network
from echoless.matching.pair_model.scoring import PairScorer, Scores

__all__ = ["PairNetwork", "PairScorer", "Scores", "open_network"]
