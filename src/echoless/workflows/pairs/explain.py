"""Explains one verdict, with the encoder the settings name."""

from __future__ import annotations

from dataclasses import replace

from echoless.core.model import Json, Memory, Pair, merges, verdict_name
from echoless.core.profiles import profile_named
from echoless.core.run_notes import Tally
from echoless.core.settings import Choices, Settings, resolve
from echoless.matching.explanation import Explanation, Reading, explain
from echoless.matching.runner import open_judge, settled_by_passages
from echoless.models.encoders.registry import open_vectoriser

__all__ = ["Explanation", "explain_memories", "explanation_json"]


def explain_memories(
    a: Memory, b: Memory, *, settings: Settings | None = None, tally: Tally | None = None
) -> Explanation:
    """Explains what the judge says of two memories; reads and writes no store.

    Args:
        a: One memory.
        b: The other.
        settings: Names encoder and cache; the defaults if left out. Without an encoder values and
            wording decide, as in a run.
        tally: Takes what was fallen back on.

    Raises:
        UsageError: The encoder is unknown.
        MissingExtra: Its library is not installed.
        DamagedPackage: The weights of the pair model are not as they were shipped.
        InputError: The user's calibration of the encoder cannot be read.
    """
    chosen, tally = settings or resolve(Choices()), Tally() if tally is None else tally
    vectors = open_vectoriser(chosen.encoder, cache=chosen.cache, tally=tally, prefer_stored=False)
    safe, pair = profile_named("safe"), Pair(a, b, {"lexical": 0.0})
    judge = open_judge(safe, vectors, tally)
    explanation = explain(judge, pair)
    (verdict,) = settled_by_passages(judge, safe, [pair], [explanation.verdict])
    return replace(explanation, verdict=verdict)


def explanation_json(explanation: Explanation) -> dict[str, Json]:
    """Returns the documented answer of `explain --json`."""
    reading = explanation.reading
    return {
        "verdict": verdict_name(explanation.verdict),
        "merge": merges(explanation.verdict),
        "evidence": explanation.verdict.evidence.line(),
        "shared": list(explanation.shared),
        "only_a": list(explanation.only_a),
        "only_b": list(explanation.only_b),
        "values": [
            {"kind": v.kind.value, "relation": v.relation.value, "a": list(v.a), "b": list(v.b)}
            for v in explanation.values
        ],
        "against": [
            {"rule": rule, "kind": d.kind.value, "a": list(d.a), "b": list(d.b)}
            for rule, d in explanation.against
        ],
        "model": None if reading is None else reading_json(reading),
        "would_change": list(explanation.would_change),
    }


def reading_json(reading: Reading) -> dict[str, Json]:
    """Returns the probabilities of the pair model, as in `explain --json`."""
    return {
        "a_holds_b": round(reading.a_holds_b, 4),
        "b_holds_a": round(reading.b_holds_a, 4),
        "conflict": round(reading.conflict, 4),
        "same": round(reading.same, 4),
        "merge_from": reading.merge,
        "conflict_from": reading.alarm,
        "words": [
            {"side": left.side, "word": left.word, "same": round(left.same, 4)}
            for left in reading.words
        ],
    }
