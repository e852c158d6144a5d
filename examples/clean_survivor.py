"""A longer copy with junk does not hide the clean one; a text with one more fact does.

python examples/clean_survivor.py
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from echoless import find, open_store

CLEAN = "The staging database listens on port 5432."
NOISY = f"[2026-01-05 09:12] Session 14, turn 3: {CLEAN} #infra #staging"
MORE = f"{CLEAN} It needs a client certificate."


def survivor(path: Path, *texts: str) -> tuple[str, str]:
    """The text that survives of some that say the same, and why. The first is rated higher."""
    lines = [
        json.dumps({"id": f"m-{n}", "content": text, "importance": 0.9 - n / 10})
        for n, text in enumerate(texts)
    ]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    with open_store(path) as store:
        found = find(store, encoder="fast")
    (group,) = found.groups
    text, why = found.memories[group.survivor].content, found.reasons[group.survivor]
    print(f"{text}\n    {why}")
    return text, why


def main() -> None:
    """The noisy copy is longer and rated higher, and loses; the superset is neither, and wins."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memories.jsonl"
        text, why = survivor(path, NOISY, CLEAN)
        assert text == CLEAN
        assert why.startswith("cleaner text: the other carries ")
        text, _ = survivor(path, CLEAN, MORE)
        assert text == MORE


if __name__ == "__main__":
    main()
