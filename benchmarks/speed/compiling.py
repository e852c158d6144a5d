"""From how many texts on compiled loops pay: `python -m benchmarks.speed compiling`.

The detector `lexical` proposes pairs of short texts in one partition, of short texts in parts of a
hundred, and of long texts. Without compiled loops, with loops that are compiled first, and with
those found compiled: each in a process of its own, all with the same pairs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from benchmarks.data import stream
from benchmarks.measure import compiled_in
from benchmarks.speed.side_by_side import Line, child, store

MODULE: Final = "benchmarks.speed.compiling"
TEXTS: Final = {
    "short, one partition": (3_000, 5_000, 8_000, 12_000, 20_000),
    "short, parts of 100": (12_000, 40_000),
    "long, one partition": (700, 1_500, 2_500),
}
PART: Final = 100
"""Texts of a small partition."""
LONG: Final = 6
"""Short texts in a long one."""
PARTNERS: Final = 30
_COLUMNS: Final = (
    *("texts", "number", "characters", "not compiled", "compiled first", "found compiled", "same"),
)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed compiling",
                                     description=__doc__)  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print lines of JSON only")
    parser.add_argument("--child", nargs=2, metavar=("KIND", "SIZE"), help=argparse.SUPPRESS)
    asked = parser.parse_args(argv)
    if asked.child:
        print(json.dumps(_proposed(asked.child[0], int(asked.child[1]))))
        return
    lines = [line for kind, sizes in TEXTS.items() for size in sizes for line in _ways(kind, size)]
    if asked.json:
        print("".join(json.dumps(line) + "\n" for line in lines), end="")
        return
    store("compiling", "From how many texts on compiled loops pay",
          "python -m benchmarks.speed compiling", lines, lambda: _body(lines))  # fmt: skip


def _ways(kind: str, size: int) -> list[Line]:
    with tempfile.TemporaryDirectory() as folder:
        kernels = compiled_in(Path(folder) / "kernels")
        ways = {
            "not compiled": {"ECHOLESS_COMPILED": "0"},
            "compiled first": {**kernels, "ECHOLESS_COMPILED": "1"},
            "found compiled": {**kernels, "ECHOLESS_COMPILED": "1"},
        }
        lines = [
            {
                "texts": kind,
                "n": size,
                "method": way,
                **child(MODULE, kind, str(size), environment=e),
            }
            for way, e in ways.items()
        ]
    said = {line["pairs"] for line in lines}
    return [{**line, "same": len(said) == 1} for line in lines]


def _proposed(kind: str, size: int) -> Line:
    """Proposes in this process, with compiled loops however few the texts are."""
    from echoless.blocking.detector import BulkDetector
    from echoless.blocking.detectors import DetectorOptions, open_detector
    from echoless.blocking.text_join import shingling
    from echoless.core.model import Memory
    from echoless.core.run_notes import Tally

    setattr(shingling, "WORTH", 0)  # noqa: B010 - a constant, and what is asked is its place
    joined = LONG if kind.startswith("long") else 1
    source = (memory.content for memory in stream(size * joined))
    texts = [". ".join(islice(source, joined)) for _ in range(size)]
    memories = [Memory(id=f"{at:06}", content=text) for at, text in enumerate(texts)]
    part = PART if "parts" in kind else size
    start, processor = time.perf_counter(), time.process_time()
    detector = open_detector("lexical", DetectorOptions(memories=size))
    assert isinstance(detector, BulkDetector)
    told = hashlib.sha256()
    for first in range(0, size, part):
        for block in detector.propose(memories[first : first + part], Tally(), PARTNERS):
            for column in (block.one, block.other, block.similarity):
                told.update(column.tobytes())
    return {
        "characters": sum(map(len, texts)),
        "wall_s": round(time.perf_counter() - start, 2),
        "cpu_s": round(time.process_time() - processor, 2),
        "pairs": told.hexdigest()[:16],
    }


def _body(lines: Sequence[Line]) -> str:
    rows = []
    for at in range(0, len(lines), 3):
        off, first, found = lines[at : at + 3]
        rows.append(
            f"| {off['texts']} | {off['n']:,} | {off['characters']:,} | {off['wall_s']:.2f} "
            f"| {first['wall_s']:.2f} | {found['wall_s']:.2f} "
            f"| {'yes' if off['same'] else 'NO'} |"
        )
    return "\n".join(
        [
            "The detector `lexical`, 30 partners a text; wall seconds without start-up, with what",
            "it takes to import the compiler. Long texts are six short ones.",
            "",
            f"| {' | '.join(_COLUMNS)} |",
            f"|{'---|' * len(_COLUMNS)}",
            *rows,
        ]
    )


if __name__ == "__main__":
    main(sys.argv[1:])
