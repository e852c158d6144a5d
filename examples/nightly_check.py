"""A job that fails when too much of a store is repetition. Runs and asserts.

python examples/nightly_check.py
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from echoless import Choices, audit_store, open_store, resolve

LIMIT = 0.25


def too_much(path: Path) -> bool:
    """Whether more than a quarter of the visible memories are redundant copies."""
    with open_store(path) as store:
        report = audit_store(store, resolve(Choices(encoder="none")))
    print(
        f"{report.counts['redundant']} of {report.counts['total']} redundant, about "
        f"{report.wasted_tokens} tokens wasted in recall"
    )
    return report.ratio > LIMIT


def main() -> None:
    """A store with one copy in three, and one without any."""
    texts = ["Deploys go out on Tuesdays.", "deploys go out on Tuesdays", "Ada owns the parser."]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memories.jsonl"
        lines = [json.dumps({"id": f"m-{n}", "content": text}) for n, text in enumerate(texts)]
        path.write_text("\n".join(lines) + "\n", "utf-8")
        assert too_much(path)
        path.write_text("\n".join(lines[1:]) + "\n", "utf-8")
        assert not too_much(path)


if __name__ == "__main__":
    main()
