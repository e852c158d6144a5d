"""What is held of what was to be forgotten: `python -m benchmarks.forgetting`.

A hundred facts are forgotten. Then their rewordings come back, other values of the same come, and
two hundred facts of other sets come, half of them from the same domains. None of these sets chose
a threshold. Rows by words alone are as where the sentence encoder is not installed.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Iterable
from pathlib import Path
from unittest.mock import patch

from benchmarks.comparison import sets
from benchmarks.measure import keep
from echoless.execution.forgetting import forget
from echoless.ingest import forgotten
from echoless.ingest.forgotten import ForgottenClaims, digests_of
from echoless.models.encoders.registry import open_encoder
from echoless.stores import open_store

FORGOTTEN, NEWS = 100, 200


def held(claims: ForgottenClaims, texts: Iterable[str]) -> str:
    """How many of some texts are held, of how many."""
    answers = [claims.said_by(text) is not None for text in texts]
    return f"{sum(answers)} of {len(answers)}"


def _none(_spec: str) -> None:
    """No encoder."""


def measured(languages: str, *, words_alone: bool) -> list[str]:
    """One row of the page."""
    every = [*sets(languages)]
    random.Random(7).shuffle(every)
    gone, others = every[:FORGOTTEN], every[FORGOTTEN : FORGOTTEN + NEWS]
    with (
        tempfile.TemporaryDirectory() as folder,
        open_store(Path(folder, "a.db"), create=True) as store,
        patch.object(forgotten, "open_encoder", _none if words_alone else open_encoder),
    ):
        forget(store, [], digests_of(item["base"] for item in gone))
        claims = ForgottenClaims(store.ledger)
        return [
            languages,
            "words" if words_alone else "words and vectors",
            held(claims, (item["same"][0] for item in gone)),
            held(claims, (item["conflict"][0]["t"] for item in gone)),
            held(claims, (item["base"] for item in others)),
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true")
    chosen = parser.parse_args()
    head = ["texts", "by", "rewordings held", "other values held", "other facts held"]
    rows = [
        head,
        ["---"] * len(head),
        *(measured(lang, words_alone=alone) for lang in ("all", "en") for alone in (False, True)),
    ]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    if chosen.keep:
        title = "What is held of what was to be forgotten"
        keep("forgetting", title, "python -m benchmarks.forgetting --keep", table)
    else:
        print(table)


if __name__ == "__main__":
    main()
