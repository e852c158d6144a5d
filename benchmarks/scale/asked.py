"""Pairs that the pair model is asked about for each memory, and what one takes.

`python -m benchmarks.scale asked [STORE ...]`

Without a store it is the bundled sample. No cache is used. A pair takes processor time of one
thread.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import as_file, files
from unittest.mock import patch

from benchmarks.measure import RESULTS
from echoless import open_store
from echoless.core.settings import Choices, resolve
from echoless.matching.pair_model.scoring import AskedPair, PairScorer, Scores
from echoless.workflows.dedupe.pipeline import find


def main(argv: Sequence[str]) -> None:
    """Prints a line of JSON for each store; keeps that of the bundled sample."""
    if argv:
        for url in argv:
            print(json.dumps(asked(url)))
        return
    with as_file(files("echoless").joinpath("data", "sample.jsonl")) as path:
        answer = {**asked(str(path)), "store": "the bundled sample"}
    (RESULTS / "scale_asked.jsonl").write_text(json.dumps(answer) + "\n", "utf-8")
    print(json.dumps(answer))


def asked(url: str) -> Mapping[str, object]:
    """Returns memories, pairs asked about, and seconds of processor time for all of them."""
    seconds: list[float] = []
    plain = PairScorer._scored  # noqa: SLF001 - what is measured is inside

    def timed(scorer: PairScorer, pair: AskedPair) -> Scores | None:
        begun = time.thread_time()
        scores = plain(scorer, pair)
        seconds.append(time.thread_time() - begun)
        return scores

    with patch.object(PairScorer, "_scored", timed), open_store(url) as store:
        settings = replace(resolve(Choices(), proposed=store.profile), cache=False)
        memories = len(find(store, settings).memories)
    return {"store": url, "memories": memories, "pairs": len(seconds), "cpu_s": sum(seconds)}
