"""Run each method in a process of its own, one after the other, and keep what it took."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.measure import RESULTS, origin

Line = dict[str, Any]


def child(
    module: str,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    minutes: float | None = None,
) -> Line:
    """What `python -m MODULE --child ...` prints as its last line, with its peak memory.

    A child that fails gives a line with `failed`, its last words; so does one that is ended
    because it takes longer than some minutes.
    """
    command = [sys.executable, "-m", module, "--child", *arguments]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=60 * minutes if minutes else None)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # with the processes that it has started
            return {"failed": f"ended after {minutes:g} minutes"}
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)  # its session does not hear Ctrl-C
            raise
    if process.returncode != 0:
        words = (err.strip().splitlines() or ["no word"])[-1]
        return {"failed": f"ended with {process.returncode}: {words[:200]}"}
    line: Line = json.loads(out.strip().splitlines()[-1])
    return line


def peak_mb() -> float:
    """Peak resident memory of this process or of one that it has ended, in MB of 10^6 bytes.

    On Linux what `getrusage` says begins with the peak of the process that started this one.
    """
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    own, ended = (
        resource.getrusage(whose).ru_maxrss * unit / 1e6
        for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    with suppress(OSError):
        said = Path("/proc/self/status").read_text("utf-8")
        own = int(said.split("VmHWM:")[1].split()[0]) * 1024 / 1e6
    return max(own, ended)


def store(
    name: str, title: str, command: str, lines: Sequence[Line], body: Callable[[], str]
) -> None:
    """Write `results/speed_NAME.jsonl` and `.md`."""
    RESULTS.mkdir(exist_ok=True)
    raw = "".join(json.dumps(line) + "\n" for line in lines)
    (RESULTS / f"speed_{name}.jsonl").write_text(raw, "utf-8")
    text = f"# {title}\n\n```\n{command}\n```\n\n{origin()}\n\n{body().strip()}\n"
    (RESULTS / f"speed_{name}.md").write_text(text, "utf-8")


def numbers(text: str) -> list[int]:
    """`1000,100000` as numbers."""
    return [int(each) for each in text.split(",") if each]


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])
