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
from benchmarks.measure import compiled_in, run
from benchmarks.speed.side_by_side import Line, store, table

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
WAYS: Final = ("not compiled", "compiled first", "found compiled")


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
    lines: list[Line] = []
    with tempfile.TemporaryDirectory() as folder:
        kernels = compiled_in(Path(folder) / "kernels")
        for way in WAYS:
            environment = {**kernels, "ECHOLESS_COMPILED": str(int(way != WAYS[0]))}
            command = (sys.executable, "-m", MODULE, "--child", kind, str(size))
            measured = json.loads(run(*command, environment=environment).output)
            lines.append({"texts": kind, "n": size, "method": way, **measured})
    same = len({line["pairs"] for line in lines}) == 1
    return [{**line, "same": same} for line in lines]


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
    digest = hashlib.sha256()
    for first in range(0, size, part):
        for block in detector.propose(memories[first : first + part], Tally(), PARTNERS):
            for column in (block.one, block.other, block.similarity):
                digest.update(column.tobytes())
    return {
        "characters": sum(map(len, texts)),
        "wall_s": round(time.perf_counter() - start, 2),
        "cpu_s": round(time.process_time() - processor, 2),
        "pairs": digest.hexdigest()[:16],
    }


def _body(lines: Sequence[Line]) -> str:
    rows = []
    for at in range(0, len(lines), len(WAYS)):
        ways = lines[at : at + len(WAYS)]
        first = ways[0]
        texts = [first["texts"], f"{first['n']:,}", f"{first['characters']:,}"]
        seconds = [f"{line['wall_s']:.2f}" for line in ways]
        rows.append([*texts, *seconds, "yes" if first["same"] else "NO"])
    return "\n".join(
        [
            "The detector `lexical`, 30 partners a text; wall seconds without start-up, with what",
            "it takes to import the compiler. Long texts are six short ones.",
            "",
            table(["texts", "number", "characters", *WAYS, "same"], rows),
        ]
    )


if __name__ == "__main__":
    main(sys.argv[1:])
