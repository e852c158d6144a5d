"""What the default profile proposes on real memories: `python -m benchmarks.real_memories`.

Prints every proposed merge of each file to be read by a person, and counts what is held apart.
Nothing of the texts is stored: they belong to others.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from echoless import find, open_store
from echoless.core.model import verdict_name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--held", action="store_true", help="print held pairs too")
    chosen = parser.parse_args()
    show_all(chosen.data, held=chosen.held)


def show_all(data: Path, *, held: bool) -> None:
    """Print the merges proposed in each file.

    Args:
        data: Data directory.
        held: Print the pairs held apart, too.
    """
    for path in sorted((data / "real_memories").glob("*.jsonl")):
        with open_store(path) as store:
            findings = find(store)
        counts = findings.counts
        print(f"\n== {path.stem}: {counts['total']} memories, {counts['candidates']} candidates")
        for group in findings.groups:
            print(f"keep   {findings.memories[group.survivor].content}")
            for member in group.members:
                assert member.judged is not None
                evidence = member.judged.verdict.evidence
                print(f"  hide {findings.memories[member.id].content}")
                print(f"       {evidence.similarity:.3f} {evidence.line()}")
        kinds = ("updates", "contradictions", "siblings", "unsure")
        print(f"{counts['redundant']} merges proposed; held:", {k: counts[k] for k in kinds})
        for judged in findings.held if held else ():
            a, b = (findings.memories[i].content for i in (judged.a, judged.b))
            print(f"{verdict_name(judged.verdict)}: {judged.verdict.evidence.line()}")
            print(f"  {a}\n  {b}")


if __name__ == "__main__":
    main()
