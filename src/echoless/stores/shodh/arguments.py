"""The optional fields of a note as arguments of `remember`.

The library tells them flat (`outcome_type`, `outcome_details`, ...) and takes some of them as
objects of its own classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from types import ModuleType

    from echoless.model import Json

FLAGS: Final = ("is_failure", "is_anomaly")

_TEXTS: Final = (
    "action_type",
    "severity",
    "recovery_action",
    "root_cause",
    "pattern_id",
    "predicted_outcome",
)
_PLACES: Final = {"position": "Position", "geo_location": "GeoLocation"}
_OBJECTS: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "outcome": (
        "Outcome",
        {
            "outcome_type": "outcome_type",
            "outcome_details": "details",
            "reward": "reward",
            "prediction_accurate": "prediction_accurate",
        },
    ),
    "environment": (
        "Environment",
        {
            "weather": "weather",
            "terrain_type": "terrain_type",
            "lighting": "lighting",
            "nearby_agents": "nearby_agents",
        },
    ),
    "decision_context": (
        "DecisionContext",
        {
            "decision_context": "state",
            "action_params": "action_params",
            "confidence": "confidence",
            "alternatives": "alternatives",
        },
    ),
}
"""Class of an argument, and the class's own word for each field the library tells."""


def arguments(
    extra: Mapping[str, Json], module: ModuleType
) -> tuple[dict[str, object], dict[str, Json]]:
    """Fields of a note as the library takes them, and those it does not take.

    Args:
        extra: The fields, as the library tells them.
        module: The library.
    """
    left = dict(extra)
    made: dict[str, object] = {}
    entities = left.get("entities")
    if (
        isinstance(entities, list | tuple)
        and entities
        and all(isinstance(e, str) for e in entities)
    ):
        made["entities"] = list(left.pop("entities") or ())  # type: ignore[arg-type]
    for flag in FLAGS:
        if left.get(flag) is True:
            made[flag] = left.pop(flag)
    for name in _TEXTS:
        if isinstance(left.get(name), str):
            made[name] = left.pop(name)
    _numbers(left, made)
    _places(left, made, module)
    _objects(left, made, module)
    return made, left


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _numbers(left: dict[str, Json], made: dict[str, object]) -> None:
    if _is_number(left.get("heading")):
        made["heading"] = left.pop("heading")
    sensors = left.get("sensor_data")
    if isinstance(sensors, Mapping) and all(map(_is_number, sensors.values())):
        made["sensor_data"] = dict(sensors)
        del left["sensor_data"]


def _places(left: dict[str, Json], made: dict[str, object], module: ModuleType) -> None:
    for name, kind in _PLACES.items():
        value = left.get(name)
        three = isinstance(value, Sequence) and len(value) == 3
        if three and isinstance(value, Sequence) and all(map(_is_number, value)):
            made[name] = getattr(module, kind)(*value)
            del left[name]


def _objects(left: dict[str, Json], made: dict[str, object], module: ModuleType) -> None:
    for name, (kind, words) in _OBJECTS.items():
        told = {word: left[field] for field, word in words.items() if field in left}
        if not told:
            continue
        try:
            made[name] = getattr(module, kind)(**told)
        except (TypeError, ValueError):
            continue  # not of its form: carried in the metadata instead
        for field in words:
            left.pop(field, None)
