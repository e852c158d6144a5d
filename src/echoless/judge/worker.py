"""A process that judges for another: reads batches from standard input, answers on standard output.

Started by `processes.py` only. It knows no encoder and no cache: the vectors it lacks it asks for.
"""

from __future__ import annotations

import pickle
import signal
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, BinaryIO, Final, TypeAlias

from echoless.judge.bulk import ruled
from echoless.judge.decide import FullJudge
from echoless.judge.meaning import Meaning
from echoless.judge.packing import packed
from echoless.model import Memory, Pair
from echoless.uncollected import uncollected
from echoless.vectors.scale import Calibration

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Opening: TypeAlias = tuple[str, Calibration] | None
"""First message to the process: model and calibration, or None for a judge without vectors."""

Row: TypeAlias = tuple[int, str | None, int, str | None, dict[str, float]]
"""A pair: for each memory the place of its text and when it was made, and what was measured."""

Batch: TypeAlias = tuple[list[str], list[Row], bool]
"""Texts, pairs, and whether to say what the verdicts depend on."""

Told: TypeAlias = tuple[Sequence[bytes], list[float | None]]
"""Verdicts packed, and what they depend on."""

ENCODE: Final = "encode"
TOLD: Final = "told"
_SIZE: Final = 8


def send(stream: BinaryIO, message: object) -> None:
    """Write one message."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(len(data).to_bytes(_SIZE, "little") + data)
    stream.flush()


def receive(stream: BinaryIO) -> object:
    """Read one message of the process at the other end, which runs this very code.

    Raises:
        EOFError: It has gone.
    """
    head = stream.read(_SIZE)
    size = int.from_bytes(head, "little")
    data = stream.read(size) if len(head) == _SIZE else b""
    if len(head) < _SIZE or len(data) < size:
        raise EOFError("the process at the other end has gone")
    return pickle.loads(data)  # noqa: S301 - from the process that started this one, or it from us


class _Asking:
    """An encoder that asks the process at the other end."""

    def __init__(self, model: str, ask: Callable[[object], object]) -> None:
        self._model = model
        self._ask = ask

    @property
    def model(self) -> str:
        return self._model

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows: NDArray[np.float32] = self._ask((ENCODE, list(texts)))  # type: ignore[assignment]
        return rows


@uncollected()
def main() -> None:
    """Judge until there is nothing more to read."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who started this
    reading, writing = sys.stdin.buffer, sys.stdout.buffer

    def ask(message: object) -> object:
        send(writing, message)
        return receive(reading)

    opening: Opening = receive(reading)  # type: ignore[assignment]
    meaning = None if opening is None else Meaning(_Asking(opening[0], ask), opening[1])
    judge = FullJudge(meaning)
    try:
        while True:
            batch: Batch = receive(reading)  # type: ignore[assignment]
            send(writing, (TOLD, _judged(judge, batch)))
    except (EOFError, BrokenPipeError):
        return


def _judged(judge: FullJudge, batch: Batch) -> Told:
    texts, rows, keeping = batch
    pairs = [
        Pair(
            Memory(id="a", content=texts[a], created_at=made_a),
            Memory(id="b", content=texts[b], created_at=made_b),
            signals,
        )
        for a, made_a, b, made_b, signals in rows
    ]
    told = ruled(judge, pairs, keeping=keeping)
    return told.data or [packed(verdict) for verdict in told.verdicts], told.consulted
