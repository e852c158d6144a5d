"""Explain one verdict, with the encoder the settings name."""

from __future__ import annotations

from echoless.judge.explaining import Explanation, explain
from echoless.judge.opening import open_meaning
from echoless.model import Json, Memory, merges, verdict_name
from echoless.settings import Choices, Settings, resolve
from echoless.tally import Tally

__all__ = ["Explanation", "explain_memories", "explanation_json"]


def explain_memories(
    a: Memory, b: Memory, *, settings: Settings | None = None, tally: Tally | None = None
) -> Explanation:
    """Explain what the full judge says of two memories. Reads nothing, writes nothing.

    Args:
        a: One memory.
        b: The other.
        settings: Names encoder and cache; the defaults if left out.
        tally: Takes what was fallen back on.

    Raises:
        UsageError: The encoder is unknown.
        MissingExtra: Its library is not installed.
        EncoderError: The encoder failed.
        InputError: The user's calibration of the encoder cannot be read.
    """
    from echoless.vectors.opening import open_vectoriser  # noqa: PLC0415 - brings in encoders

    chosen, told = settings or resolve(Choices()), Tally() if tally is None else tally
    vectors = open_vectoriser(chosen.encoder, cache=chosen.cache, tally=told, prefer_stored=False)
    return explain(a, b, open_meaning(vectors.encoder, vectors.cache, told))


def explanation_json(told: Explanation) -> dict[str, Json]:
    """The documented answer of `explain --json`."""
    return {
        "verdict": verdict_name(told.verdict),
        "merge": merges(told.verdict),
        "evidence": told.verdict.evidence.line(),
        "similarity": told.similarity,
        "matched": [{"a": m.a, "b": m.b, "similarity": m.similarity} for m in told.matched],
        "only_a": list(told.only_a),
        "only_b": list(told.only_b),
        "against": [
            {"rule": rule, "kind": d.kind.value, "a": list(d.a), "b": list(d.b)}
            for rule, d in told.against
        ],
        "score": told.score,
        "merge_from": told.merge,
        "cosine_from": told.cosine,
        "weights": [
            {"feature": w.feature, "value": w.value, "points": w.points} for w in told.weights
        ],
        "would_change": list(told.would_change),
    }
