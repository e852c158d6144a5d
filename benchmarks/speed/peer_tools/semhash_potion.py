"""SemHash as its page shows it: its default model, potion-base-8M, and `self_deduplicate`."""

from __future__ import annotations

import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.speed.peer_tools.job import Behind, job
from benchmarks.speed.peer_tools.weights import potion

PACKAGES = ("semhash", "model2vec", "vicinity", "usearch")


def main() -> None:
    run = job()
    with tempfile.TemporaryDirectory() as folder:
        place = potion(run.options.weights, Path(folder))
        model = import_module("model2vec").StaticModel.from_pretrained(str(place))
    made = import_module("semhash").SemHash.from_records(
        records=run.memories, columns=["content"], model=model
    )
    run.part("encode")  # and the index
    threshold, *others = run.thresholds
    result = made.self_deduplicate(threshold=threshold)
    run.part("join")
    behind = {threshold: _hidden(result)}
    run.part("group")
    run.keep(behind[threshold])
    account = run.account("SemHash {version}", *PACKAGES, model="potion-base-8M, its default")
    if others:
        result = made.self_deduplicate(threshold=others[0])
        for each in others:
            result.rethreshold(each)
            behind[each] = _hidden(result)
    run.end(account, behind)


def _hidden(result: Any) -> Behind:
    """What is filtered, behind the record it is called a duplicate of."""
    return {each.record["id"]: each.duplicate_of["id"] for each in result.filtered}


if __name__ == "__main__":
    main()
