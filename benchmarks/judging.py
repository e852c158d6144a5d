"""How many pairs a second the judge decides, on one core: `python -m benchmarks.judging`.

Kinds of pairs, all from the bundled sample but the labelled ones (`benchmarks/pairs`). Texts are
known (warm), as they are when a store is judged: each text stands in several pairs. The pair model
stands beside the rules in a second table, with its counts; `benchmarks.pair_model` tells more.
Beside them, in the same run, two plain similarities of texts that decide nothing:
`rapidfuzz.fuzz.token_set_ratio` and `difflib.SequenceMatcher.ratio`.
"""

from __future__ import annotations

import json
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from importlib.resources import files
from itertools import islice, pairwise
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
from rapidfuzz import fuzz

from benchmarks.measure import keep
from benchmarks.speed import peer_truth
from echoless.core.model import Memory, Pair, Side
from echoless.core.run_notes import Tally
from echoless.matching.facts import facts_of
from echoless.matching.judge import LearnedJudge
from echoless.matching.pair_model.network import open_network
from echoless.matching.pair_model.scoring import PairScorer, Scores
from echoless.matching.rule_judge import RuleJudge
from echoless.models.encoders.base import Encoder
from echoless.models.encoders.registry import open_encoder

Texts: TypeAlias = tuple[str, str]
CANDIDATE: Final = 0.5
MOST: Final = 2_000
ROUNDS: Final = 5
DIFFLIB: Final = 100
"""Pairs difflib is measured on: it is slow, and its speed does not depend on how many there are."""

ASKED: Final = 300
"""Pairs of a kind that rules and pair model are measured on side by side."""
STORE: Final = 3_000

PAIRS: Final = Path(__file__).parent / "pairs"
_NUMBER: Final = re.compile(r"\d+")


def main() -> None:
    encoder = open_encoder("fast")
    assert encoder is not None
    sample = _sample()
    kinds: dict[str, list[Texts]] = {
        "same words in other dressing": list(_dressed(sample)),
        "a number differs": list(_numbered(sample)),
        f"store candidates, cosine {CANDIDATE} or more": list(_candidates(sample, encoder)),
        f"the same of {STORE:,} memories in one namespace": list(_crowd(encoder)),
        "labelled pairs (hard)": list(_labelled()),
        "long texts (ten memories each)": list(_long(sample)),
    }
    some = {name: list(islice(pairs, MOST)) for name, pairs in kinds.items()}
    rows = [_row(name, pairs) for name, pairs in some.items()]
    both = [_side_by_side(name, pairs[:ASKED]) for name, pairs in some.items()]
    body = f"""
| pairs | number | judge, pairs/s | nothing known of the texts \
| token_set_ratio takes | difflib takes |
|---|---|---|---|---|---|
{chr(10).join(rows)}

Best of {ROUNDS} rounds, CPU time of the process. `Judge`: the texts are known, as where each stands
in several pairs. The last two columns: time
of a pair as a multiple of the time the judge takes for it (2.0: twice as long).

Rules and pair model side by side, of at most {ASKED:,} pairs each, nothing remembered (what is too
long for the model takes it no time):

| pairs | number | the model is asked about | rules, pairs/s | model, pairs/s \
| tokens of a pair asked about | share of the model in the time |
|---|---|---|---|---|---|---|
{chr(10).join(both)}

First look at a text (facts, words): {_first_look(sample):.2f} ms.
"""
    keep("judging", "Pairs judged a second, one core", "python -m benchmarks.judging", body)


def _sample() -> dict[str, list[str]]:
    """Texts by namespace."""
    lines = (files("echoless") / "data" / "sample.jsonl").read_text("utf-8").splitlines()
    by_namespace: dict[str, list[str]] = defaultdict(list)
    for line in lines:
        row = json.loads(line)
        by_namespace[row["namespace"]].append(row["content"])
    return by_namespace


def _dressed(sample: dict[str, list[str]]) -> Iterator[Texts]:
    for texts in sample.values():
        for text in texts:
            yield text, f"- **{text.rstrip('.')}**"


def _numbered(sample: dict[str, list[str]]) -> Iterator[Texts]:
    for texts in sample.values():
        for text in texts:
            if _NUMBER.search(text):
                yield text, _NUMBER.sub(lambda match: str(int(match.group()) + 3), text, count=1)


def _candidates(sample: dict[str, list[str]], encoder: Encoder) -> Iterator[Texts]:
    for texts in sample.values():
        rows = encoder.encode(texts)
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        near = (rows @ rows.T >= CANDIDATE).nonzero()
        for i, j in zip(*(place.tolist() for place in near), strict=True):
            if i < j:
                yield texts[i], texts[j]


def _crowd(encoder: Encoder) -> Iterator[Texts]:
    """Candidates of a store whose texts are drawn from few words, spread over all of them."""
    texts = list(peer_truth.build(STORE, peer_truth.never_seen()).texts)
    pairs = list(_candidates({"": texts}, encoder))
    yield from pairs[:: max(1, len(pairs) // MOST)]


def _labelled() -> Iterator[Texts]:
    for path in sorted(PAIRS.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            yield row["a"], row["b"]


def _long(sample: dict[str, list[str]]) -> Iterator[Texts]:
    for texts in sample.values():
        joined = [" ".join(texts[at : at + 10]) for at in range(0, len(texts) - 10, 5)]
        yield from pairwise(joined)
        yield from ((text, text.replace(" the ", " a ", 1)) for text in joined)


def _row(name: str, texts: Sequence[Texts]) -> str:
    pairs = [
        Pair(Memory(id="a", content=a), Memory(id="b", content=b), {"semantic": 0.6})
        for a, b in texts
    ]
    judge = RuleJudge()
    judged = _seconds(lambda: judge.judge_all(pairs)) / len(pairs)

    def judge_afresh() -> None:
        _forget()
        judge.judge_all(pairs)

    first = _seconds(judge_afresh) / len(pairs)
    sets = _seconds(lambda: [fuzz.token_set_ratio(a, b) for a, b in texts]) / len(pairs)
    some = texts[:DIFFLIB]
    loop = _seconds(lambda: [SequenceMatcher(None, a, b).ratio() for a, b in some]) / len(some)
    return (
        f"| {name} | {len(pairs):,} | {1 / judged:,.0f} | {1 / first:,.0f}"
        f"| {sets / judged:.2f} | {loop / judged:.1f} |"
    )


class _TimedScorer(PairScorer):
    """Tells how long the pair model took, and of how many pairs and tokens."""

    pairs = tokens = 0
    took = 0.0

    def score(
        self,
        pairs: Sequence[Texts],
        tally: Tally,
        *,
        newer: Sequence[Side | None] = (),
        threads: int = 1,
        keep: bool = True,
    ) -> list[Scores | None]:
        start = time.process_time()
        scores = super().score(pairs, tally, newer=newer, threads=threads, keep=keep)
        self.took += time.process_time() - start
        self.pairs += len(pairs)
        network = open_network()
        self.tokens += sum(len(network.tokens(text) or ()) for pair in pairs for text in pair)
        return scores


def _side_by_side(name: str, texts: Sequence[Texts]) -> str:
    pairs = [
        Pair(Memory(id="a", content=a), Memory(id="b", content=b), {"semantic": 0.6})
        for a, b in texts
    ]
    _forget()
    open_network()
    scorer = _TimedScorer(open_network)
    judge = LearnedJudge(RuleJudge(), scorer, Tally())
    start = time.process_time()
    judged = judge.rules.judge_all(pairs)
    rules = time.process_time() - start
    judge.settle(pairs, judged)
    asked = max(1, scorer.pairs)
    return (
        f"| {name} | {len(pairs):,} | {scorer.pairs:,} | {len(pairs) / rules:,.0f} "
        f"| {asked / max(scorer.took, 1e-9):,.0f} | {scorer.tokens / asked:.0f} "
        f"| {100 * scorer.took / (scorer.took + rules):.0f} % |"
    )


def _first_look(sample: dict[str, list[str]]) -> float:
    """Milliseconds a text, nothing known of it."""
    texts = [text for some in sample.values() for text in some]

    def look() -> None:
        _forget()
        for text in texts:
            facts_of(text)

    return 1_000 * _seconds(look) / len(texts)


def _forget() -> None:
    facts_of.forget()


def _seconds(work: Callable[[], object]) -> float:
    """Least CPU time of several rounds, after one that warms the caches."""
    work()
    took = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        took.append(time.process_time() - start)
    return min(took)


if __name__ == "__main__":
    main()
