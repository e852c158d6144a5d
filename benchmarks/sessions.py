"""Sessions of `echoless calibrate` with the labels of the development store for answers.

    python -m benchmarks.sessions [--encoder minilm ...] [--questions N] [--halves N] [--write]

For each model: where the odds are even by all undecided pairs, what a session finds of that, how
often the 90 % interval of sessions on random halves of the store holds the even odds of that half,
and what the judge makes of the labelled pairs with what the session learned.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np

from benchmarks.calibrations import Measure, judged_rows
from benchmarks.encoders import Missing, open_for_benchmark
from benchmarks.labelled import labelled_sets
from benchmarks.measure import keep
from echoless.calibrating import Asked, Calibrated, Reply, calibrate
from echoless.ground import Ground, Undecided
from echoless.model import Memory
from echoless.stores import open_store
from echoless.stores.base import Scope, Store
from echoless.vectors.base import Encoder
from echoless.vectors.odds import Odds, even_odds, sample

MODELS: Final = ("use", "minilm", "e5")


@dataclass(frozen=True, slots=True)
class Labels:
    """Which memories of the development store state the same.

    Attributes:
        clusters: Name of its cluster by id.
    """

    clusters: Mapping[str, str | None]

    def same(self, pair: Undecided) -> bool:
        """Whether they share a cluster."""
        mine = self.clusters[pair.a.id]
        return mine is not None and mine == self.clusters[pair.b.id]

    def reply(self, asked: Asked) -> Reply:
        """As a person who knows the labels."""
        return "same" if self.same(asked.pair) else "different"


def truth(memories: Sequence[Memory], encoder: Encoder, labels: Labels) -> Odds:
    """Even odds by every undecided pair of the band."""
    ground = Ground(memories, encoder, None)
    pairs = ground.undecided()
    kinds = ([p.cosine for p in pairs if labels.same(p) is same] for same in (True, False))
    yes, no = kinds
    answers = sample([(yes, True, 1.0), (no, False, 1.0)])
    return even_odds(answers, sample([]), ground.stranger)


def session(store: Store, encoder: Encoder, labels: Labels, questions: int) -> Calibrated:
    """One session that keeps nothing."""
    return calibrate(
        store,
        encoder,
        ask=labels.reply if questions else None,
        questions=questions,
        save=False,
    )


def halves(
    store: Store, encoder: Encoder, labels: Labels, questions: int, many: int
) -> Iterator[tuple[Calibrated, Odds]]:
    """Sessions on random halves of the store, each with the even odds by all pairs of its half."""
    for seed in range(many):
        random = np.random.default_rng(seed)
        half = {m.id for m in store.scan(Scope()) if random.random() < 0.5}
        with TemporaryDirectory() as folder, open_store(f"{folder}/half.db", create=True) as part:
            _copy(store, part, half)
            memories = [m for m in part.scan(Scope()) if m.content.strip()]
            yield session(part, encoder, labels, questions), truth(memories, encoder, labels)


def _copy(store: Store, part: Store, ids: AbstractSet[str]) -> None:
    with part.writing():
        part.put([memory for memory in store.scan(Scope()) if memory.id in ids])


def _row(found: Calibrated, whole: Odds, parts: Sequence[tuple[Calibrated, Odds]]) -> str:
    assert found.odds is not None
    learned = [(part.odds, true.even) for part, true in parts if part.odds is not None]
    hit = sum(odds.low <= even <= odds.high for odds, even in learned)
    middles = [odds.even for odds, _ in learned]
    point = "" if found.point is None else f"{found.point.cosine:.3f}"
    read = ", ".join(found.languages)
    return (
        f"| {found.model.partition('@')[0]} | {read} | {whole.even:.3f} | {found.odds.even:.3f} "
        f"({found.odds.low:.3f} to {found.odds.high:.3f}) | {hit} of {len(parts)} | "
        f"{np.std(middles) if middles else 0:.3f} | {found.before.cosine:.2f}: "
        f"{found.proposed[0]:,} | {point}: {found.proposed[1]:,} |"
    )


def report(options: argparse.Namespace) -> Iterator[str]:
    """The page, line by line."""
    path = options.data / "memory_pairs" / "dev_store.jsonl"
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    labels = Labels({record["id"]: record["cluster"] for record in records})
    sets = labelled_sets(options.data, [Path("benchmarks/pairs")])
    rows = [row for each in sets if each.name != "value_conflicts" for row in each.rows]
    judged = []
    yield (
        f"{options.questions} answers by the labels, {options.halves} random halves of the store.\n"
    )
    heads = "model, reads, even odds by all pairs, by the session, interval holds it, "
    heads += "spread over halves, pairs proposed before, now"
    yield f"| {heads.replace(', ', ' | ')} |\n{'| --- ' * 8}|"
    for name in options.encoder or MODELS:
        encoder = open_for_benchmark(name, options.cache, None)
        if encoder is None or isinstance(encoder, Missing):
            yield f"| {name} | left out |"
            continue
        with open_store(path) as store:
            whole = truth([m for m in store.scan(Scope()) if m.content.strip()], encoder, labels)
            found = session(store, encoder, labels, options.questions)
            parts = [*halves(store, encoder, labels, options.questions, options.halves)]
        yield _row(found, whole, parts)
        if found.calibration is not None:
            seen = Measure(rows, encoder).judged(encoder, found.calibration)
            judged += judged_rows(f"{encoder.model.partition('@')[0]}, session", seen)
    yield "\n## The judge on the labelled pairs: precision / recall (merged)\n"
    yield "| encoder | all | en | de | ja |\n| --- | --- | --- | --- | --- |"
    yield from judged


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", action="append", help="use, minilm, e5, model2vec:FOLDER, …")
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--halves", type=int, default=20)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--cache", type=Path, default=Path("/tmp/echoless-benchmark-vectors"))
    parser.add_argument("--write", action="store_true", help="keep the page in results/")
    chosen = parser.parse_args()
    body = "\n".join(report(chosen))
    if not chosen.write:
        print(body)
        return
    asked = (f"--encoder {name}" for name in chosen.encoder or MODELS)
    command = " ".join(["python -m benchmarks.sessions --write", *asked])
    keep("calibration_sessions", "Sessions of `echoless calibrate`", command, body)


if __name__ == "__main__":
    main()
