"""Merging in files of llm-memory: `python -m benchmarks.merging [--sizes 2000,20000]`.

The same memories, each with a vector of 384 components and every tenth with a link to the one
before it, are put into a file of llm-memory. Then `memory_deduplicate` looks at the 10,000 most
recent ones and merges its groups, one transaction a group, in a process of its own. At most
`--groups` groups are merged, so that both sizes merge the same number: what a group costs must not
grow with the file. Beside it a run of `apply` over the same plan in one transaction.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Final

from benchmarks.adapters import KINDS
from benchmarks.data import memories
from benchmarks.measure import keep, run
from echoless import open_store
from echoless.core.model import Link
from echoless.execution.executor import apply
from echoless_programs.llm_memory.deduplicate import Arguments, carry_out, preview
from echoless_programs.llm_memory.tool_arguments import resolve
from echoless_programs.stores.llm_memory import LlmMemoryStore

MOST: Final = 10_000
"""Memories that may take part in one call."""

_PROGRAM: Final = (sys.executable, "-m", "benchmarks.merging")
_HEAD: Final = (
    *("memories", "groups", "merged", "plan s", "merging s", "ms a group"),
    *("one transaction: merging s", "peak MB"),
)


def main() -> None:
    if sys.argv[1:2] == ["--merge"]:
        _merge(sys.argv[2], int(sys.argv[3]), together=sys.argv[4] == "together")
        return
    if sys.argv[1:2] == ["--fill"]:
        _fill(sys.argv[2], int(sys.argv[3]))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="2000,20000")
    parser.add_argument("--groups", type=int, default=50)
    parser.add_argument("--no-results", action="store_true", help="print, and keep no file")
    chosen = parser.parse_args()
    rows = [_row(int(size), chosen.groups) for size in chosen.sizes.split(",")]
    body = f"""
Memories of about 20 words, 30 % of them repetition of some kind (`benchmarks/data.py`), with
vectors of 384 components, every tenth with a link. `memory_deduplicate` over the {MOST:,} most
recent ones; its first {chosen.groups} groups are merged, each in a transaction of its own, as the
command does it. *plan* finds all groups. The last but one column is the same plan carried out in
one transaction.

{_line(_HEAD)}
{_line(["---"] * len(_HEAD))}
{chr(10).join(rows)}
"""
    if chosen.no_results:
        print(body)
        return
    command = f"python -m benchmarks.merging --sizes {chosen.sizes} --groups {chosen.groups}"
    keep("merging", "Merging in a file of llm-memory", command, body)


def _row(size: int, groups: int) -> str:
    costs = []
    for how in ("groups", "together"):
        with tempfile.TemporaryDirectory() as place:
            url = KINDS["llm-memory"].url(Path(place))
            run(*_PROGRAM, "--fill", url, str(size))
            costs.append(run(*_PROGRAM, "--merge", url, str(groups), how))
    one, whole = (json.loads(cost.output) for cost in costs)
    each = 1_000 * one["merging"] / max(1, one["groups"])
    return _line(
        [
            *(f"{size:,}", str(one["groups"]), str(one["merged"]), f"{one['plan']:.1f}"),
            *(f"{one['merging']:.1f}", f"{each:.0f}", f"{whole['merging']:.1f}"),
            f"{costs[0].peak_mb:.0f}",
        ]
    )


def _fill(url: str, size: int) -> None:
    records = [KINDS["llm-memory"].dressed(m, n) for n, m in enumerate(memories(size))]
    records = [
        replace(
            memory,
            namespace="bench",
            links=(Link(records[n - 1].id, "related"),) if n % 10 == 9 else (),
        )
        for n, memory in enumerate(records)
    ]
    with open_store(url, create=True) as store, store.writing():
        store.put([replace(memory, links=()) for memory in records])
        store.put([memory for memory in records if memory.links])


def _merge(url: str, groups: int, *, together: bool) -> None:
    """Print seconds of the plan and of merging its first groups."""
    with open_store(url) as store:
        assert isinstance(store, LlmMemoryStore)
        start = time.perf_counter()
        made = preview(store, Arguments(namespace=resolve("bench"), limit=MOST, dry_run=False))
        planned = time.perf_counter()
        made = replace(made, plan=replace(made.plan, actions=made.plan.actions[:groups]))
        if together:
            done = apply(store, made.plan)
            merged, failed = done.counts.get("delete", 0), len(done.refused)
        else:
            answer = carry_out(store, made)
            errors = answer.get("errors", [])
            assert isinstance(answer["merged"], int)
            assert isinstance(errors, list)
            merged, failed = answer["merged"], len(errors)
        merging = time.perf_counter() - planned
    figures = {"plan": planned - start, "merging": merging, "merged": merged, "failed": failed}
    print(json.dumps({**figures, "groups": len(made.plan.actions)}))


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
