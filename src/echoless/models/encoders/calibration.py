"""Calibration of models: the cosine from which a pair is a candidate, as shipped or as a user set.

A detector serves recall, so a point is set low: a pair above it costs the judge some time, a pair
below it is never seen. A point holds for one model only (law 11). How the shipped points were
found, with tables: `docs/adr/0002-default-encoder.md`.

The calibration of a user replaces the shipped point: one JSON file for each model in the user's
data folder, written by `echoless calibrate`, read wherever thresholds of a model are asked for. It
holds ids, digests and cosines, no text. A file that cannot be read is an error that names it: a run
that stops is better than thresholds that change unnoticed from one run to the next.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from echoless.core.errors import InputError, StoreReadOnly
from echoless.core.model import Json
from echoless.core.optional import lazy_module
from echoless.core.own_folders import user_folder

if TYPE_CHECKING:
    import tempfile
else:
    tempfile = lazy_module("tempfile")

FOLDER: Final = "ECHOLESS_DATA_DIR"

_KIND: Final = "echoless calibration"
_VERSION: Final = 2
_READ: Final = frozenset({1, 2})
"""Versions that can be read; the first knew no shift."""
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")
_NAME_LENGTH: Final = 60
_DIGEST: Final = 10

DEFAULT_OPERATING_POINT: Final = 0.80
"""For models without a figure. Of the models measured, those with spread cosines (USE, MiniLM,
potion) find 30 to 56 of 100 mergeable pairs there; e5, whose cosines sit between 0.78 and 1.0,
proposes 57 pairs a memory. Cautious for the one, noisy for the other: calibrate, or set
`--threshold`."""


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """The cosine from which pairs of a model are candidates.

    Attributes:
        cosine: 0 to 1, inclusive.
        source: Where the figure comes from, in one sentence.
    """

    cosine: float
    source: str


@dataclass(frozen=True, slots=True)
class PairAnswer:
    """A person's answer about two memories.

    Attributes:
        a: The smaller id.
        b: The larger id.
        texts: Keys of the two contents (`text.content_key`), in the order of the ids.
        cosine: Of the two texts, by the model asked about.
        same: Whether they state the same.
        logit: Log odds of the same by the decision as it ships; None where the pair model was not
            asked.
    """

    a: str
    b: str
    texts: tuple[str, str]
    cosine: float
    same: bool
    logit: float | None = None


@dataclass(frozen=True, slots=True)
class Own:
    """Calibration of one model by its user.

    Attributes:
        model: Identity of the model, in full.
        answers: All answers given so far.
        point: Where the detector begins looking; None as long as the answers do not settle it.
        shift: By how much the decision is shifted, in log odds; None as above.
    """

    model: str
    answers: tuple[PairAnswer, ...] = ()
    point: OperatingPoint | None = None
    shift: float | None = None


_MEASURED: Final = (
    "measured on 475 labelled pairs and a store of 1,200 memories, November 2026: "
    "{recall} % of mergeable pairs at or above, {load} candidates a memory"
)

OPERATING_POINTS: Final[Mapping[str, OperatingPoint]] = MappingProxyType(
    {
        "use-multilingual-v3": OperatingPoint(0.50, _MEASURED.format(recall=91, load="0.6")),
        "echoless-static": OperatingPoint(0.50, _MEASURED.format(recall=86, load="0.5")),
        "all-minilm-l6-v2": OperatingPoint(0.60, _MEASURED.format(recall=89, load="0.9")),
        "potion-base-8m": OperatingPoint(0.60, _MEASURED.format(recall=84, load="1.4")),
        "multilingual-e5-small": OperatingPoint(
            0.89, _MEASURED.format(recall=94, load="0.7") + ' (prefix "passage: ", 4-bit weights)'
        ),
        "text-embedding-3-small": OperatingPoint(
            0.60,
            "published best threshold on 40 labelled pairs (recall .92, precision 1.00), "
            "episteme.cloud, model evaluation; not measured by us",
        ),
    }
)
"""By model name, case-folded, without organisation and version."""

_SAME_WEIGHTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "all-minilm-l6-v2-onnx-int8": "all-minilm-l6-v2",
        "all-minilm-l6-v2-int8": "all-minilm-l6-v2",
        "e5-small": "multilingual-e5-small",
        "multilingual-e5-small-q4": "multilingual-e5-small",
    }
)


# ------------------------------------------------------------------ points of a model


def known_point(model: str) -> OperatingPoint | None:
    """Returns the operating point of a model: the user's own, else the shipped one, else None.

    Args:
        model: Name of the model in its vectors: `use-multilingual-v3@0.2.1`,
            `sentence-transformers/all-MiniLM-L6-v2`, `text-embedding-3-small@localhost/v1`.

    Returns:
        What was calibrated for exactly this model, or the shipped point of its name: what stands
        between the last `/` before any `@` and that `@`.

    Raises:
        InputError: There is a calibration of the user's that cannot be read.
    """
    own = read_own(model)
    if own is not None and own.point is not None:
        return own.point
    return shipped_point(model)


def shipped_point(model: str) -> OperatingPoint | None:
    """Returns the shipped point of a model by its name, or None."""
    name = model.partition("@")[0].rstrip("/").rpartition("/")[2].strip().casefold()
    return OPERATING_POINTS.get(_SAME_WEIGHTS.get(name, name))


def operating_point(model: str) -> float | None:
    """Returns the cosine of `known_point`, or None."""
    point = known_point(model)
    return None if point is None else point.cosine


def decision_shift(model: str) -> float:
    """Returns by how much the user's answers shift the decision, in log odds; 0 without answers.

    Raises:
        InputError: There is a calibration of the user's that cannot be read.
    """
    own = read_own(model)
    return own.shift if own is not None and own.shift is not None else 0.0


# ------------------------------------------------------------------ files of the user


def data_folder() -> Path:
    """Returns `ECHOLESS_DATA_DIR` if set, else the user's data folder for echoless."""
    chosen = os.environ.get(FOLDER, "").strip()
    if chosen:
        return Path(chosen).expanduser().absolute()
    return user_folder("data")


def own_path(model: str) -> Path:
    """Returns the path of a model's file: a readable part and a digest of the whole name."""
    return _own_path(data_folder(), model)


@lru_cache(maxsize=64)
def _own_path(folder: Path, model: str) -> Path:
    readable = _UNSAFE.sub("-", model).strip("-.")[:_NAME_LENGTH] or "model"
    digest = hashlib.sha256(model.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    return folder / "calibrations" / f"{readable}-{digest}.json"


def own_digest() -> str:
    """Returns 32 hexadecimal digits over all calibrations of this user.

    A file that cannot be read counts by its name only; `read_own` raises the error for it.
    """
    digest = hashlib.sha256()
    for path in sorted((data_folder() / "calibrations").glob("*.json")):
        digest.update(f"\0{path.name}\0".encode())
        with suppress(OSError):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:32]


def read_own(model: str) -> Own | None:
    """Reads the user's calibration of a model; None where there is none.

    Raises:
        InputError: The file is damaged, of another program or about another model.
    """
    path = own_path(model)
    try:
        text = path.read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as problem:
        raise _unreadable(path, str(problem)) from problem
    try:
        return _from_json(json.loads(text), model)
    except (KeyError, TypeError, ValueError, RecursionError) as problem:
        raise _unreadable(path, str(problem) or type(problem).__name__) from problem


def _unreadable(path: Path, why: str) -> InputError:
    return InputError(
        f"The calibration {path} cannot be read ({why}). Delete it, or move it away, and run "
        "`echoless calibrate` again."
    )


def write_own(own: Own) -> Path:
    """Writes a calibration; the file is replaced in one step.

    Raises:
        StoreReadOnly: The folder cannot be written.
    """
    path = own_path(own.model)
    record: dict[str, Json] = {
        "kind": _KIND,
        "version": _VERSION,
        "model": own.model,
        "point": None if own.point is None else asdict(own.point),
        "shift": own.shift,
        "answers": [asdict(each) for each in own.answers],
    }
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=path.parent, prefix=".draft-", suffix=".json")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(json.dumps(record, indent=1) + "\n")
            Path(draft).replace(path)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise
    except OSError as problem:
        raise StoreReadOnly(
            f"The calibration cannot be written to {path} ({problem}). "
            f"Set {FOLDER} to a folder that can be written."
        ) from problem
    return path


# ------------------------------------------------------------------ JSON


def _from_json(raw: object, model: str) -> Own:
    record = _record(raw)
    if record.get("kind") != _KIND:
        raise ValueError("it is no calibration of echoless")
    if record.get("version") not in _READ:
        raise ValueError(f"it was written by another version ({record.get('version')!r})")
    if record.get("model") != model:
        raise ValueError(f"it is about the model {record.get('model')!r}, not {model!r}")
    shift = record.get("shift")
    answers = tuple(_answer(_record(each)) for each in _list(record["answers"]))
    point = None
    if record["point"] is not None:
        place = _record(record["point"])
        cosine = _number(place["cosine"])
        if not 0 < cosine <= 1:
            raise ValueError(f"the operating point {cosine} is not above 0 and up to 1")
        point = OperatingPoint(cosine, str(place["source"]))
    return Own(model, answers, point, None if shift is None else _number(shift))


def _answer(raw: Mapping[str, object]) -> PairAnswer:
    one, other = (str(each) for each in _list(raw["texts"]))
    if not isinstance(raw["same"], bool):
        raise TypeError("an answer is neither true nor false")
    logit = raw.get("logit")
    return PairAnswer(
        str(raw["a"]),
        str(raw["b"]),
        (one, other),
        _number(raw["cosine"]),
        raw["same"],
        None if logit is None else _number(logit),
    )


def _record(raw: object) -> Mapping[str, object]:
    if not isinstance(raw, dict):
        raise TypeError("a JSON object was expected")
    return raw


def _list(raw: object) -> Sequence[object]:
    if not isinstance(raw, list):
        raise TypeError("a JSON list was expected")
    return raw


def _number(raw: object) -> float:
    # NaN is below nothing, and a whole number may be too large for a float
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not abs(raw) < 1e300:
        raise TypeError(f"{raw!r} is not a number")
    return float(raw)
