"""`python -m benchmarks.speed NAME [options]`: one benchmark by name."""

from __future__ import annotations

import sys
from importlib import import_module

NAMES = (
    "join", "dense", "road", "first_audit", "peers", "spilled",
    "against", "distinct",
)  # fmt: skip


def main() -> None:
    name, *options = sys.argv[1:] or ["--help"]
    if name not in NAMES:
        print(f"python -m benchmarks.speed {{{','.join(NAMES)}}} [options]\n\n{__doc__}")
        sys.exit(0 if name in {"-h", "--help"} else 2)
    import_module(f"benchmarks.speed.{name}").main(options)


if __name__ == "__main__":
    main()
