"""What `import echoless` costs: `python -m benchmarks.imports`.

Median of fresh interpreters, against `import pandas` in the same run where pandas is installed.
"""

from __future__ import annotations

import importlib.util
import statistics
import subprocess
import sys

RUNS = 11


def main() -> None:
    names = ["echoless", *(["pandas"] if importlib.util.find_spec("pandas") else [])]
    took: dict[str, list[float]] = {name: [] for name in names}
    for name in names:
        _milliseconds(name)  # byte code and disk cache
    for _ in range(RUNS):
        for name in names:
            took[name].append(_milliseconds(name))
    medians = {name: statistics.median(values) for name, values in took.items()}
    for name, value in medians.items():
        print(f"import {name}: {value:.1f} ms (median of {RUNS})")
    if "pandas" in medians:
        print(f"ratio: {medians['echoless'] / medians['pandas']:.3f}")


def _milliseconds(name: str) -> float:
    program = (
        f"import time; t = time.perf_counter(); import {name}; "
        "print((time.perf_counter() - t) * 1000)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return float(answer.stdout)


if __name__ == "__main__":
    main()
