"""A process that judges for another: reads batches from standard input, answers on standard output.

Started by `process_pool.py` only.
"""

from __future__ import annotations

import pickle
import signal
import sys
from typing import BinaryIO, Final, TypeAlias

from echoless.matching.batch.serialisation import packed
from echoless.matching.rule_judge import RuleJudge
from echoless.model import Memory, Pair
from echoless.uncollected import uncollected

Row: TypeAlias = tuple[int, str | None, int, str | None, dict[str, float]]
"""A pair: for each memory the place of its text and when it was made, and what was measured."""

Batch: TypeAlias = tuple[list[str], list[Row]]
"""Texts, and pairs of them."""

_SIZE: Final = 8


def send(stream: BinaryIO, message: object) -> None:
    """Writes one message."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(len(data).to_bytes(_SIZE, "little") + data)
    stream.flush()


def receive(stream: BinaryIO) -> object:
    """Reads one message of the process at the other end, which runs this very code.

    Raises:
        EOFError: It has gone.
    """
    head = stream.read(_SIZE)
    size = int.from_bytes(head, "little")
    data = stream.read(size) if len(head) == _SIZE else b""
    if len(head) < _SIZE or len(data) < size:
        raise EOFError("the process at the other end has gone")
    return pickle.loads(data)  # noqa: S301 - from the process that started this one, or it from us


@uncollected()
def main() -> None:
    """Judges until there is nothing more to read."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who started this
    reading, writing = sys.stdin.buffer, sys.stdout.buffer
    judge = RuleJudge()
    try:
        while True:
            batch: Batch = receive(reading)  # type: ignore[assignment]
            send(writing, _judged(judge, batch))
    except (EOFError, BrokenPipeError):
        return


def _judged(judge: RuleJudge, batch: Batch) -> list[bytes]:
    """Returns the verdicts on a batch as bytes."""
    texts, rows = batch
    pairs = [
        Pair(
            Memory(id="a", content=texts[a], created_at=made_a),
            Memory(id="b", content=texts[b], created_at=made_b),
            signals,
        )
        for a, made_a, b, made_b, signals in rows
    ]
    return [packed(verdict) for verdict in judge.judge_all(pairs)]
