"""Digests of verdicts, groups and plans, to compare two commits: `python -m benchmarks.digests`.

A row for each store and encoder. Where two commits print the same rows, they judge, group and plan
the same. The sample of the package, the stores about persons and the real notes and memories of
`--data` are read. `PYTHONPATH=OTHER/src python -m benchmarks.digests` runs another commit's source.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from importlib.resources import files
from pathlib import Path

from echoless import find, open_store, plan
from echoless.core.model import digest, verdict_name
from echoless.core.settings import Choices, resolve
from echoless.execution.actions import action_to_json

STORES = ("person_stores/*.jsonl", "real_notes/*.jsonl", "real_memories/*.jsonl")


def as_store(path: Path) -> str:
    """Returns a JSON Lines store of a file: as it is, or each text of each line a memory."""
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    if "content" in lines[0]:
        return path.read_text("utf-8")
    texts = [line[side] for line in lines for side in ("a", "b", "text") if side in line]
    return "".join(
        json.dumps({"id": f"m-{number:04d}", "content": text}) + "\n"
        for number, text in enumerate(texts)
    )


def row(path: Path, encoder: str) -> str:
    """Returns the counts and digests of a store, as a row of a table."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, path.name)
        copy.write_text(as_store(path), "utf-8")
        with open_store(copy) as store:
            found = find(store, resolve(Choices(encoder=encoder)))
            actions = plan(found).actions
    verdicts = [[j.a, j.b, verdict_name(j.verdict), j.verdict.evidence.rule] for j in found.judged]
    groups = [[g.survivor, *(m.id for m in g.members)] for g in found.groups]
    acts = [action_to_json(action) for action in actions]
    told = (verdicts, groups, acts)
    figures = f"{len(found.memories):,} | {len(verdicts):,} | {len(groups):,} | {len(actions):,}"
    return f"| {path.stem} | {encoder} | {figures} | {' | '.join(digest(t)[:12] for t in told)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--encoders", nargs="*", default=["none", "fast"])
    chosen = parser.parse_args()
    stores = [path for pattern in STORES for path in sorted(chosen.data.glob(pattern))]
    sample = Path(str(files("echoless"))) / "data" / "sample.jsonl"
    print("| store | encoder | memories | pairs | groups | actions | verdicts | groups | plan |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for path in (sample, *stores):
        for encoder in chosen.encoders:
            print(row(path, encoder), flush=True)


if __name__ == "__main__":
    main()
