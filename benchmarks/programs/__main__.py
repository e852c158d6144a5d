"""What hiding does to real programs: `python -m benchmarks.programs [--only NAME] [--work FOLDER]`.

Each program is installed by its package into an environment of its own, below the work folder. Its
own API writes a small store; echoless hides, and the program searches again. Rows are kept in
`benchmarks/results/programs.jsonl`; with `--only` those of other programs stay as they were.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path

from filelock import FileLock

from benchmarks.measure import keep
from benchmarks.programs.catalogue import Program, programs
from benchmarks.programs.environment import CannotInstall
from benchmarks.programs.harness import Row, tried
from benchmarks.programs.page import COMMAND, ROWS, TITLE, body, rows

WORKING = ("texts", "before", "steady")
"""What a row holds while it is made."""


def main() -> None:
    """Try the programs that were asked for, and write the table of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", metavar="NAME", help="may be given again")
    parser.add_argument("--work", type=Path, default=Path("build/programs"), metavar="FOLDER")
    parser.add_argument("--page", action="store_true", help="write the table from the rows kept")
    asked = parser.parse_args()
    known = programs()
    if unknown := set(asked.only or ()) - {program.name for program in known}:
        parser.error(f"no such program: {', '.join(sorted(unknown))}")
    chosen = [one for one in known if not asked.only or one.name in asked.only]
    for program in [] if asked.page else chosen:
        start = time.monotonic()
        row = _row(program, asked.work.resolve())
        _kept(row, [one.name for one in known], asked.work.resolve())
        print(f"{program.name}: {time.monotonic() - start:.0f} s, {row.found or row.remarks}")
    keep("programs", TITLE, COMMAND, body(rows()))


def _row(program: Program, work: Path) -> Row:
    try:
        return tried(program, work)
    except CannotInstall as error:
        return Row(program.name, program.package, remarks=[f"not installed: {error}"])


def _kept(row: Row, order: list[str], work: Path) -> None:
    """Put a row among those kept, in the order of the catalogue."""
    with FileLock(work / "rows.lock"):
        seen = {one.program: one for one in rows() if one.program in order} | {row.program: row}
        told = [asdict(seen[name]) for name in order if name in seen]
        for one in told:
            for name in WORKING:
                del one[name]
        lines = [json.dumps(one, ensure_ascii=False) for one in told]
        ROWS.write_text("".join(f"{line}\n" for line in lines), "utf-8")


if __name__ == "__main__":
    main()
