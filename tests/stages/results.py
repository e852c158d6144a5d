"""What each stage computes on a fixed sample, as a digest (ADR 0017).

`python -m tests.stages.results` records the digests of stages whose version was raised in
`core/versions.py`. It never replaces the digest of a version that was recorded before.

The sample is the bundled store, 176 pairs of short texts (`sample.json`), a namespace of one
sentence with other figures, whose pairs exceed the budget, and a namespace of vectors. The rules
judge alone; all takes some seconds.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np

from echoless import Choices, Memory, audit, find, open_store, resolve
from echoless.blocking.candidates import candidates
from echoless.clustering.noise_score import cleanliness
from echoless.core.json_codec import memory_from_json
from echoless.core.model import Json, Pair, Vector, canonical
from echoless.core.run_notes import Tally
from echoless.core.settings import Settings
from echoless.core.versions import STAGES, StageName
from echoless.matching.facts import facts_of
from echoless.matching.rule_judge import RuleJudge
from echoless.models.encoders.vectorizer import MemoryVectoriser
from echoless.workflows.audit.report import kept_report
from tests.conformance.stores import fill

RECORD: Final = Path(__file__).with_name("versions.json")

DECIMALS: Final = 4
"""Of a similarity. Processors sum up in another order, which shows from the seventh digit on."""

DETECTORS: Final = ("exact", "normalised", "sequence", "lexical", "semantic")


# ------------------------------------------------------------------ the sample


@cache
def pairs() -> tuple[Pair, ...]:
    """Pairs of short texts, of two days."""
    stored = json.loads(Path(__file__).with_name("sample.json").read_text("utf-8"))["pairs"]
    return tuple(
        Pair(
            Memory(id=f"p-{at:03}a", content=a, namespace="pairs", created_at="2026-05-01"),
            Memory(id=f"p-{at:03}b", content=b, namespace="pairs", created_at="2026-05-03"),
            {"lexical": 0.9},
        )
        for at, (a, b) in enumerate(stored)
    )


@cache
def memories() -> tuple[Memory, ...]:
    """All memories of the sample, by id."""
    bundled = (files("echoless") / "data" / "sample.jsonl").read_text("utf-8").splitlines()
    names = {"id", "content", "namespace", "type", "tags", "importance", "access_count"}
    names |= {"created_at", "provenance"}
    told = [
        memory_from_json({name: each for name, each in json.loads(line).items() if name in names})
        for line in bundled
    ]
    told += [memory for pair in pairs() for memory in (pair.a, pair.b)]
    told += [
        Memory(id=f"c-{n:02}", content=f"Build {n} of the nightly run passed", namespace="alike")
        for n in range(80)
    ]
    told += _with_vectors()
    return tuple(sorted(told, key=lambda memory: memory.id))


def _with_vectors() -> Iterator[Memory]:
    """Yields memories with vectors of 1 and -1, so that every cosine is a whole sixteenth."""
    random = Random(17)
    for family in range(30):
        base = [random.choice((-1.0, 1.0)) for _ in range(32)]
        for at in range(6):
            row = list(base)
            for place in random.sample(range(32), random.randrange(7)):
                row[place] = -row[place]
            data = np.array(row, "<f4").tobytes()
            yield Memory(
                id=f"v-{family:02}-{at}",
                content=f"{random.random()} {family}",
                namespace="vectors",
                vectors=(Vector(model="made", data=data),),
            )


def settings() -> Settings:
    """The default profile with every detector, stored vectors, and no cache."""
    chosen = Choices(encoder="stored", cache=False, detector=("sequence",))
    made = resolve(chosen)
    assert {use.name for use in made.profile.detectors} == set(DETECTORS)
    return made


# ------------------------------------------------------------------ the stages


def _matching() -> Json:
    """Verdicts, days told from the day of writing, and the word lists."""
    ordered = sorted(memories(), key=lambda memory: (memory.namespace, memory.content, memory.id))
    asked = [*pairs(), *(Pair(a, b, {"lexical": 0.9}) for a, b in pairwise(ordered))]
    verdicts = [repr(each) for each in RuleJudge().judge_all(asked)]
    relative = [bool(facts_of(memory.content).relative) for memory in memories()]
    lists = (files("echoless") / "matching" / "lexicon").iterdir()
    words = {
        each.name: json.loads(each.read_text("utf-8"))
        for each in lists
        if each.name.endswith(".json")
    }
    return [verdicts, relative, words]


def _noise() -> Json:
    """The junk that each text carries."""
    texts = dict.fromkeys(memory.content for memory in memories())
    junk = (cleanliness(text) for text in texts)
    return [[int(j.grade), [str(kind) for kind in j.kinds], j.length] for j in junk]


def _blocking() -> Json:
    """The pairs that all detectors propose, with their similarities and what they leave out."""
    tally = Tally()
    by_id = {memory.id: memory for memory in memories()}
    found = candidates(
        by_id,
        {id_: (id_,) for id_ in by_id},
        settings(),
        tally,
        lambda *_: None,
        MemoryVectoriser(prefer_stored=True),
    )
    signals = found.signals
    measured = [[*pair, _rounded(dict(signals[pair]))] for pair in sorted(signals)]
    skipped: Json = {reason: sorted(ids) for reason, ids in tally.skipped.items()}
    return [measured, found.left_out, skipped]


def _audit() -> Json:
    """The report of an audit as it is cached."""
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/sample.db"
        fill(url, memories())
        with open_store(url) as store:
            report = replace(audit(find(store, settings())), url="", release="", settings={})
    return _rounded(json.loads(kept_report(report)))


RESULTS: Final[dict[StageName, Callable[[], Json]]] = {
    "matching": _matching,
    "noise": _noise,
    "blocking": _blocking,
    "audit": _audit,
}


def _rounded(value: Json) -> Json:
    """Returns a value with all its fractions rounded."""
    match value:
        case float():
            return round(value, DECIMALS)
        case dict():
            return {name: _rounded(each) for name, each in value.items()}
        case list() | tuple():
            return [_rounded(each) for each in value]
        case _:
            return value


def digest_of_results(stage: StageName) -> str:
    """32 hexadecimal digits over what a stage computes on the sample."""
    return sha256(canonical(RESULTS[stage]()).encode("ascii")).hexdigest()[:32]


def main() -> None:
    """Records the results of new versions."""
    record = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
    for stage, (version, _) in STAGES.items():
        digests, digest = record.setdefault(stage, {}), digest_of_results(stage)
        if digests.setdefault(str(version), digest) != digest:
            sys.exit(f"{stage}: version {version} has other results; raise it first.")
    RECORD.write_text(json.dumps(record, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
