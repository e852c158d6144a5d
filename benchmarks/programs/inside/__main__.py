"""Run steps of one program: `python -m benchmarks.programs.inside NAME JOB ANSWER`."""

from __future__ import annotations

import json
import os
import sys
import threading
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.programs.inside.common import Note


def main(name: str, job: Path, answer: Path) -> None:
    """Call the functions that the job names, and write what each gives."""
    asked = json.loads(job.read_text("utf-8"))
    module = import_module(f"benchmarks.programs.inside.{name}")
    folder = Path(asked["folder"])
    os.chdir(folder)
    answers: list[dict[str, Any]] = []
    for step, *given in asked["steps"]:
        if not hasattr(module, step):
            answers.append({"missing": step})
            continue
        arguments = [[Note(*note) for note in given[0]]] if step == "write" else given
        try:
            answers.append({"value": getattr(module, step)(folder, *arguments)})
        except Exception as error:  # noqa: BLE001 - whatever a program raises is told in the table
            answers.append({"error": f"{type(error).__name__}: {error}"[:400]})
            traceback.print_exc()
    answer.write_text(json.dumps(answers), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1].replace("-", "_"), Path(sys.argv[2]), Path(sys.argv[3]))
    # Threads of a program that never end must not hold the table up; files are closed before.
    end = threading.Timer(10, os._exit, (0,))
    end.daemon = True
    end.start()
