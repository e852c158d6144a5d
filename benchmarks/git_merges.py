"""What becomes of memories that two branches changed: `python -m benchmarks.git_merges`.

The branches are written from invented memories that have pairs of which one replaces the other,
copies in other words, and pairs that only look alike. A file holds twelve as items of three lists.
Each branch adds three at the ends of two lists and removes one; one rewords one too. In each second
merge two pairs are among what both add, a side each: two values should be in a conflict, a copy may
be folded, all else should be there.
"""

from __future__ import annotations

import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from echoless_setup.claim_merge import Labels, by_claims, by_lines

from benchmarks.measure import keep
from echoless.matching.claims import note_of

HERE: Final = Path(__file__).parent
MEMORIES: Final = (HERE / "git_merges.json", *sorted((HERE / "homes").glob("*.json")))
MERGES: Final = 20
MARKED: Final = re.compile(r"^<{7} .*?^>{7} [^\n]*\n", re.DOTALL | re.MULTILINE)
ROWS: Final = {
    "merges": "merges",
    "clean by Git": "plain clean",
    "clean by the driver": "driver clean",
    "of those without such pairs": "calm clean",
    "claims in conflicts of Git": "plain marked",
    "claims in conflicts of the driver": "driver marked",
    "pairs that say the same": "copies",
    "of these once": "copies once",
    "of these in a conflict, unsure": "copies marked",
    "pairs of two values": "stale",
    "of these in a conflict": "stale marked",
    "pairs that look alike": "traps",
    "of these in a conflict ": "traps marked",
    "claims that have to be there": "claims",
    "folded into a copy": "folded",
    "lost": "lost",
    "milliseconds of a merge, the model loaded": "milliseconds",
}


def branch(text: str, added: Sequence[str], gone: str) -> str:
    """The file after a branch; the two sides of a pair go to one list."""
    text = text.replace(f"- {gone}\n", "")
    for number, item in enumerate(added):
        head, mark, tail = text.partition(f"\n## Part {1 + number % 2}\n")
        text = f"{head}- {item}\n{mark}{tail}"
    return text


def merge(home: dict[str, Any], seed: int, counts: Counter[str]) -> None:
    """Writes and merges two branches, and counts what became of them."""
    draw = random.Random(seed)
    said = {id_: " ".join(text.split()) for id_, text in home["memories"].items()}
    pairs = [(kind, *two[:2]) for kind in ("copies", "stale", "traps") for two in home[kind]]
    draw.shuffle(pairs)
    chosen: list[tuple[str, str, str]] = [pairs[0]]
    reworded = next(each for each in pairs if each[0] == "copies" and not {*each[1:]} & {*pairs[0]})
    used = {*pairs[0], *reworded}
    chosen += [each for each in pairs if not {*each[1:]} & used][:1]
    used |= {id_ for each in chosen for id_ in each}
    chosen *= seed % 2
    free = sorted(said.keys() - used)
    draw.shuffle(free)
    base, free = free[:11], free[11:]
    adds = [[each[side] for each in chosen] for side in (1, 2)]
    adds = [[*some, *(free.pop() for _ in range(3 - len(some)))] for some in adds]
    items = [f"- {said[each]}\n" for each in (*base, reworded[1])]
    text = "".join(f"\n## Part {n}\n\n{''.join(items[n::3])}" for n in range(3))
    ours, theirs = (
        branch(text, [said[each] for each in some], said[gone])
        for some, gone in zip(adds, base, strict=False)
    )
    ours = ours.replace(f"- {said[reworded[1]]}\n", f"- {said[reworded[2]]}\n")
    states = (text.encode(), ours.encode(), theirs.encode())
    plain, started = by_lines(*states, Labels()), time.perf_counter()
    made, result = by_claims(*states, Labels()), ""
    counts["milliseconds"] += round(1000 * (time.perf_counter() - started))
    counts["merges"] += 1
    for name, one in (("plain", plain), ("driver", made)):
        result = one.data.decode()
        counts[f"{name} clean"] += not one.conflicts
        counts["calm clean"] += name == "driver" and not chosen and not one.conflicts
        counts[f"{name} marked"] += "".join(MARKED.findall(result)).count("\n- ")
    for kind, a, b in chosen:
        there = [f"- {said[id_]}\n" in result for id_ in (a, b)]
        counts[kind] += 1
        counts[f"{kind} marked"] += f"- {said[a]}\n" in "".join(MARKED.findall(result))
        counts[f"{kind} once"] += not all(there)
    words = " ".join(re.sub(r"^[<=>]{7}.*$", "", result, flags=re.MULTILINE).split())
    folded = {less for less, _ in made.folded}
    for id_ in (*adds[0], *adds[1], *base[2:], reworded[2]):
        lost = [claim for claim in note_of(said[id_]).texts if claim not in words]
        counts["claims"] += 1
        counts["folded" if folded.issuperset(lost) else "lost"] += bool(lost)


def main() -> None:
    """Prints what became of the merges of each memory; with `--keep` it is in `results/` too."""
    counts = [Counter[str]() for _ in MEMORIES]
    by_claims(b"", b"The demo is at 2 pm.\n", b"The demo starts at 14:00.\n", Labels())
    for path, counted in zip(MEMORIES, counts, strict=True):
        for seed in range(MERGES):
            merge(json.loads(path.read_text("utf-8")), seed, counted)
        counted["milliseconds"] //= MERGES
    names = ("agent", *(path.stem for path in MEMORIES[1:]))
    lines = [f"| | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for row, name in ROWS.items():
        lines.append(f"| {row.strip()} | {' | '.join(str(each[name]) for each in counts)} |")
    print("\n".join(lines))
    if "--keep" in sys.argv:
        keep(
            "git", "Merges of memories", "python -m benchmarks.git_merges --keep", "\n".join(lines)
        )


if __name__ == "__main__":
    main()
