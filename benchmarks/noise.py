"""Counts what an audit of real notes asks a person to look at, and prints a sample to be read.

    python -m benchmarks.noise REPOSITORIES.jsonl --git 'CLONES/{repo}' [--most 200] [--show 100]

Every repository is a namespace. Of the texts nothing is stored: they belong to others.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from training.notes import notes_of

from echoless import find, open_store
from echoless.core.model import Judged, verdict_name
from echoless.workflows.dedupe.findings import Findings


def records(listed: Path, git: str, most: int) -> Iterator[dict[str, str]]:
    """Yields notes as records of a store, at most so many of a repository."""
    seen: set[str] = set()
    for line in listed.read_text("utf-8").splitlines():
        repository = json.loads(line)
        if repository["repo"] in seen:
            continue  # an older commit of the same files
        seen.add(repository["repo"])
        repository["git"] = git.format(repo=repository["repo"].replace("/", "+"))
        for number, (note, _) in enumerate(notes_of(repository)):
            if number == most:
                break
            name = f"{repository['repo']}#{number}"
            yield {"id": name, "content": note, "namespace": repository["repo"]}


def sampled(findings: Findings, pairs: list[Judged], count: int) -> Iterator[str]:
    """Yields some of the pairs as text, drawn at random."""
    for judged in random.Random(1).sample(pairs, min(count, len(pairs))):
        chance = judged.verdict.evidence.chance
        shown = "" if chance is None else f"{chance:.2f} "
        yield f"{verdict_name(judged.verdict)} {shown}{judged.verdict.evidence.line()}"
        yield from (f"   {findings.memories[i].content}" for i in (judged.a, judged.b))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("repositories", type=Path)
    parser.add_argument("--git", default="{repo}")
    parser.add_argument("--most", type=int, default=200, help="notes of a repository")
    parser.add_argument("--show", type=int, default=0, help="held pairs and merges to print")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "notes.jsonl"
        made = list(records(asked.repositories, asked.git, asked.most))
        path.write_text("".join(json.dumps(record) + "\n" for record in made), "utf-8")
        with open_store(path) as store:
            findings = find(store)
    held = Counter(verdict_name(judged.verdict) for judged in findings.held)
    count = len(findings.memories)
    print(f"{count:,} notes of {len({r['namespace'] for r in made})} repositories")
    print(
        f"{findings.counts['candidates']:,} candidate pairs, {findings.redundant:,} copies to hide"
    )
    print(
        f"{len(findings.held):,} held pairs, {1000 * len(findings.held) / count:.0f} per thousand"
    )
    print(", ".join(f"{name} {number:,}" for name, number in sorted(held.items())))
    for sentence in (
        *findings.tally.notes,
        *(f"{r}: {n:,}" for r, n in findings.tally.counts.items()),
    ):
        print(f"- {sentence}")
    if asked.show:
        print("\n".join(("", "HELD", *sampled(findings, list(findings.held), asked.show))))
        pairs = [m.judged for g in findings.groups for m in g.members if m.judged is not None]
        print("\n".join(("", "MERGED", *sampled(findings, pairs, asked.show))))


if __name__ == "__main__":
    main()
