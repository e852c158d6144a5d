"""Explain one verdict, with the encoder the settings name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from echoless.judge import FullJudge
from echoless.judge.explaining import Explanation, Reading, explain
from echoless.judge.opening import open_meaning
from echoless.matching.explanation import read_pair
from echoless.matching.judge import LearnedJudge, bare
from echoless.matching.opening import open_learned
from echoless.model import Json, Memory, Pair, Verdict, merges, verdict_name
from echoless.settings import Choices, Settings, resolve
from echoless.tally import Tally

__all__ = ["Explanation", "explain_memories", "explanation_json"]


def explain_memories(
    a: Memory, b: Memory, *, settings: Settings | None = None, tally: Tally | None = None
) -> Explanation:
    """Explain what the judge says of two memories. Reads nothing, writes nothing.

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
    if vectors.encoder is None:
        return explain(a, b)
    judge = open_learned(FullJudge(), told, cache=chosen.cache)
    if not isinstance(judge, LearnedJudge):
        return explain(a, b)
    pair = Pair(a, b, {"lexical": 0.0})
    verdict, reading = read_pair(judge, pair)
    shown = bare(pair)
    aligned = explain(shown.a, shown.b, open_meaning(vectors.encoder, vectors.cache, told))
    if reading is None:
        return replace(aligned, verdict=verdict)
    return replace(
        aligned,
        verdict=verdict,
        score=reading.same,
        merge=reading.merge,
        cosine=0.0,
        weights=(),
        would_change=tuple(_would_change(verdict, reading)),
        reading=reading,
    )


def _would_change(verdict: Verdict, reading: Reading) -> Iterator[str]:
    """What would have to be otherwise for the other outcome."""
    if merges(verdict):
        yield "Another number, date, version or path on one side would keep them apart."
        for left in reading.words[:1]:
            if left.same < reading.merge:
                yield f"So would {left.side} without `{left.word}`."
        return
    if reading.vetoed:
        for kind, a, b in reading.values[:1]:
            one, other = " ".join(a) or "nothing", " ".join(b) or "nothing"
            yield f"They are kept apart as long as {kind.value} `{one}` stands against `{other}`."
        if reading.same >= reading.merge:
            yield "Without that they would be merged."
        return
    joining = [left for left in reading.words if left.same >= reading.merge]
    if joining:
        yield f"They would be merged if {joining[0].side} did not say `{joining[0].word}`."
    else:
        yield (
            f"The probability of the same is {reading.same:.2f}; memories are merged from "
            f"{reading.merge:.2f} on. No single word makes the difference."
        )


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
        "model": None if told.reading is None else reading_json(told.reading),
        "would_change": list(told.would_change),
    }


def reading_json(reading: Reading) -> dict[str, Json]:
    """What the pair model says, as in `explain --json`."""
    return {
        "a_holds_b": round(reading.a_holds_b, 4),
        "b_holds_a": round(reading.b_holds_a, 4),
        "conflict": round(reading.conflict, 4),
        "same": round(reading.same, 4),
        "merge_from": reading.merge,
        "conflict_from": reading.alarm,
        "values": [{"kind": k.value, "a": list(a), "b": list(b)} for k, a, b in reading.values],
        "vetoed": reading.vetoed,
        "words": [
            {"side": left.side, "word": left.word, "same": round(left.same, 4)}
            for left in reading.words
        ],
    }
