"""`python -m benchmarks.scale NAME [options]`: one benchmark by name."""

from __future__ import annotations

import sys
from importlib import import_module

NAMES = ("engines", "asked")


def main() -> None:
    name, *options = sys.argv[1:] or ["--help"]
    if name not in NAMES:
        print(f"python -m benchmarks.scale {{{','.join(NAMES)}}} [options]\n\n{__doc__}")
        sys.exit(0 if name in {"-h", "--help"} else 2)
    import_module(f"benchmarks.scale.{name}").main(options)


if __name__ == "__main__":
    main()
