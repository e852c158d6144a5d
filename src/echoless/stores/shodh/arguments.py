"""The optional fields of a note as arguments of `remember`.

The library returns them as flat fields (`outcome_type`, `outcome_details`, ...) and takes some of
them as objects of its own classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from types import ModuleType

    from echoless.core.model import Json

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
"""Class of an argument, and the class's own word for each field the library returns."""


def arguments(
    extra: Mapping[str, Json], module: ModuleType
) -> tuple[dict[str, object], dict[str, Json]]:
    """Returns the fields of a note for a call of the library, and the fields it does not take.

    Args:
        extra: The fields, as the library returns them.
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
        made["entities"] = list(entities)
        del left["entities"]
    plain = {
        **{name: left.get(name) is True for name in FLAGS},
        **{name: isinstance(left.get(name), str) for name in _TEXTS},
        "heading": _is_number(left.get("heading")),
    }
    made.update((name, left.pop(name)) for name, fits in plain.items() if fits)
    sensors = left.get("sensor_data")
    if isinstance(sensors, Mapping) and all(map(_is_number, sensors.values())):
        made["sensor_data"] = dict(sensors)
        del left["sensor_data"]
    for name, kind in _PLACES.items():
        value = left.get(name)
        if isinstance(value, Sequence) and len(value) == 3 and all(map(_is_number, value)):
            made[name] = getattr(module, kind)(*value)
            del left[name]
    _make_objects(left, made, module)
    return made, left


def _is_number(value: Json) -> bool:
    """Checks for a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _make_objects(left: dict[str, Json], made: dict[str, object], module: ModuleType) -> None:
    """Moves the fields of the library's own classes from `left` to `made`, as objects."""
    for name, (kind, words) in _OBJECTS.items():
        values = {word: left[field] for field, word in words.items() if field in left}
        if not values:
            continue
        try:
            made[name] = getattr(module, kind)(**values)
        except (TypeError, ValueError):
            continue  # not of its form: carried in the metadata instead
        for field in words:
            left.pop(field, None)
