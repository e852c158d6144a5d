"""What `compare` says of a memory that a program rewrote: `python -m benchmarks.comparison`.

Notes are written from contrast sets that trained nothing: six sets a note, each by its base. The
rewrite keeps, moves, rewords, shortens, changes or drops each, and adds texts of the same topics,
by chance with a fixed seed. So what became of each claim is known. The page has how many of each
kind were found, and how many of those told are right; `gone` are lost and changed ones together.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from benchmarks.measure import keep
from echoless.core.settings import Choices, resolve
from echoless.matching.claims import note_of
from echoless.stores import open_store
from echoless.workflows.comparison import Fate, compare

SETS: Final = Path(__file__).parents[1] / "training" / "data"
KEPT_APART: Final = ("people_dev", "bindings_kept")
IN_A_NOTE: Final = 6
SHARES: Final = {
    Fate.KEPT: 0.30,
    Fate.REWORDED: 0.25,
    Fate.SHORTENED: 0.10,
    Fate.CHANGED: 0.15,
    Fate.LOST: 0.20,
}
GONE: Final = frozenset({Fate.LOST, Fate.CHANGED})
MOVED: Final = 0.3
"""Share of the claims that stand in another note after the rewrite."""


def kept_apart() -> Iterator[dict[str, Any]]:
    """The contrast sets that trained nothing, in files' order."""
    for name in KEPT_APART:
        for path in sorted((SETS / name).glob("*.jsonl")):
            yield from map(json.loads, path.read_text("utf-8").splitlines())


def sets(languages: str) -> Iterator[dict[str, Any]]:
    """The contrast sets that have what a rewrite needs, in files' order."""
    for item in kept_apart():
        whole = item["same"] and item["conflict"] and len(note_of(item["base"]).claims) == 1
        if whole and (languages == "all" or item["lang"] == languages):
            yield item


def rewritten(item: dict[str, Any], draw: random.Random) -> tuple[Fate, str]:
    """What becomes of a set's base, and the text that stands for it; empty where it is lost."""
    fate = draw.choices([*SHARES], [*SHARES.values()])[0]
    match fate:
        case Fate.REWORDED:
            return fate, draw.choice(item["same"])
        case Fate.CHANGED:
            return fate, draw.choice(item["conflict"])["t"]
        case Fate.SHORTENED if item["less"]:
            return fate, draw.choice(item["less"])
        case Fate.LOST:
            return fate, ""
    return Fate.KEPT, item["base"]


def written(folder: Path, notes: dict[int, list[str]]) -> Path:
    """The folder with a file for each note, a list item for each claim."""
    folder.mkdir()
    for number, lines in notes.items():
        text = "".join(f"- {line}\n" for line in lines)
        (folder / f"note_{number:03}.md").write_text(text, "utf-8")
    return folder


def measured(seed: int, languages: str) -> tuple[Counter[str], list[str]]:
    """Counts by `fate found`, `fate all`, `fate told` and `fate right`; and what was wrong."""
    draw = random.Random(seed)
    every = list(sets(languages))
    draw.shuffle(every)
    before: dict[int, list[str]] = {}
    after: dict[int, list[str]] = {}
    truth: dict[str, Fate] = {}
    new: set[str] = set()
    many = -(-len(every) // IN_A_NOTE)
    for at, item in enumerate(every):
        note = at // IN_A_NOTE
        before.setdefault(note, []).append(item["base"])
        fate, text = rewritten(item, draw)
        truth[item["base"]] = fate
        place = draw.randrange(many) if draw.random() < MOVED else note
        if text:
            after.setdefault(place, []).append(text)
        others = [*(each["t"] for each in item["sibling"]), *item["related"]]
        if others and draw.random() < 0.1:
            new.add(added := draw.choice(others))
            after.setdefault(place, []).append(added)
    with tempfile.TemporaryDirectory() as made:
        folders = [written(Path(made) / n, s) for n, s in (("before", before), ("after", after))]
        with (
            open_store(f"markdown:///{folders[0]}") as one,
            open_store(f"markdown:///{folders[1]}") as two,
        ):
            made_of = compare(one, two, resolve(Choices(), proposed=two.profile))
    counts: Counter[str] = Counter(f"{fate} all" for fate in truth.values())
    counts["new all"] = len(new)
    counts["gone all"] = counts["lost all"] + counts["changed all"]
    wrong = []
    for each in made_of.outcomes:
        said = each.before or each.after
        assert said is not None
        added = each.before is None
        real = Fate.NEW if added and said.text in new else truth.get(said.text)
        counts[f"{each.fate} told"] += 1
        counts[f"{each.fate} right"] += each.fate is real
        counts["gone told"] += each.fate in GONE
        counts["gone right"] += each.fate in GONE and real in GONE
        if each.fate is not real and not (added and real is None):
            wrong.append(f"{real} told {each.fate}: {said.text}")
    return counts, wrong


def main() -> None:
    """Prints what was found and what was right, over several seeds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2, 3])
    parser.add_argument("--language", default="all")
    parser.add_argument("--wrong", action="store_true", help="print what was told wrongly")
    parser.add_argument("--keep", action="store_true", help="write the figures to results/")
    chosen = parser.parse_args()
    whole: Counter[str] = Counter()
    for seed in chosen.seeds:
        counts, wrong = measured(seed, chosen.language)
        whole += counts
        if chosen.wrong:
            print("\n".join(wrong))
    rows = []
    for fate in ("lost", "changed", "gone", "shortened", "new"):
        found, all_, told = (whole[f"{fate} {what}"] for what in ("right", "all", "told"))
        rows.append(
            {
                "fate": fate,
                "all": all_,
                "found": round(found / all_, 3),
                "told": told,
                "right": round(found / max(1, told), 3),
            }
        )
        print(rows[-1])
    if chosen.keep:
        head = "| fate | claims | found | told | right |\n|---|---|---|---|---|\n"
        lines = [f"| {' | '.join(map(str, row.values()))} |" for row in rows]
        keep(
            "comparison",
            "Claims after a rewrite",
            "python -m benchmarks.comparison --keep",
            head + "\n".join(lines),
        )


if __name__ == "__main__":
    main()
