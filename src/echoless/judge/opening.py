"""The judge's view of an encoder, if its cosines are known to mean something."""

from __future__ import annotations

from typing import Final

from echoless.judge.meaning import Meaning
from echoless.tally import Tally
from echoless.vectors.base import Encoder
from echoless.vectors.cache import VectorCache
from echoless.vectors.calibration import calibration_of

UNCALIBRATED: Final = (
    "No calibration is known for the model {model!r}: what is said in other words stays apart. "
    "`echoless calibrate STORE --encoder ENCODER` learns one from your own memories."
)


def open_meaning(
    encoder: Encoder | None, cache: VectorCache | None = None, tally: Tally | None = None
) -> Meaning | None:
    """What words and texts mean to a calibrated encoder.

    Args:
        encoder: Makes vectors, or None.
        cache: Keeps them, or None.
        tally: Told if there is no calibration, and if the cache cannot be used.

    Returns:
        None without an encoder, and for a model neither echoless nor its user calibrated.

    Raises:
        InputError: The user's calibration of the model cannot be read.
    """
    if encoder is None:
        return None
    calibration = calibration_of(encoder.model)
    if calibration is None:
        if tally is not None:
            tally.note(UNCALIBRATED.format(model=encoder.model))
        return None
    return Meaning(encoder, calibration, cache=cache, tally=tally)
