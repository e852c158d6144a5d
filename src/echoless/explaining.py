"""Explain one verdict, with the encoder the settings name."""

from __future__ import annotations

from echoless.deciding import open_judge
from echoless.matching.explanation import Explanation, Reading, explain
from echoless.model import Json, Memory, Pair, merges, verdict_name
from echoless.profiles import profile_named
from echoless.settings import Choices, Settings, resolve
from echoless.tally import Tally

__all__ = ["Explanation", "explain_memories", "explanation_json"]


def explain_memories(
    a: Memory, b: Memory, *, settings: Settings | None = None, tally: Tally | None = None
) -> Explanation:
    """Explains what the judge says of two memories. Reads nothing, writes no store.

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
    from echoless.vectors.opening import open_vectoriser  # noqa: PLC0415 - brings in encoders

    chosen, told = settings or resolve(Choices()), Tally() if tally is None else tally
    vectors = open_vectoriser(chosen.encoder, cache=chosen.cache, tally=told, prefer_stored=False)
    judge = open_judge(profile_named("safe"), vectors, told)
    return explain(judge, Pair(a, b, {"lexical": 0.0}))


def explanation_json(told: Explanation) -> dict[str, Json]:
    """Returns the documented answer of `explain --json`."""
    return {
        "verdict": verdict_name(told.verdict),
        "merge": merges(told.verdict),
        "evidence": told.verdict.evidence.line(),
        "shared": list(told.shared),
        "only_a": list(told.only_a),
        "only_b": list(told.only_b),
        "values": [
            {"kind": v.kind.value, "relation": v.relation.value, "a": list(v.a), "b": list(v.b)}
            for v in told.values
        ],
        "against": [
            {"rule": rule, "kind": d.kind.value, "a": list(d.a), "b": list(d.b)}
            for rule, d in told.against
        ],
        "model": None if told.reading is None else reading_json(told.reading),
        "would_change": list(told.would_change),
    }


def reading_json(reading: Reading) -> dict[str, Json]:
    """Returns what the pair model says, as in `explain --json`."""
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
