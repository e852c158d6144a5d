"""Filters of LangGraph's searches, for values that lie beside the store.

Facts of the library's own documentation of `SearchOp`: keys are compared for equality, or by `$eq`,
`$ne`, `$gt`, `$gte`, `$lt`, `$lte`; all have to hold.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Final

_ORDERED: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def meets(value: Mapping[str, object], wanted: Mapping[str, object]) -> bool:
    """Returns whether a value meets a filter; an operator that is unknown is met by nothing."""
    return all(_meets_condition(value.get(key), wanted[key]) for key in wanted)


def _meets_condition(field: object, condition: object) -> bool:
    """Returns whether one field of a value meets its condition."""
    if not isinstance(condition, Mapping):
        return field == condition
    if any(str(key).startswith("$") for key in condition):
        return all(_compares(field, str(name), other) for name, other in condition.items())
    return isinstance(field, Mapping) and meets(field, condition)


def _compares(field: object, name: str, other: object) -> bool:
    """Returns whether a field and another value compare as an operator asks."""
    match name:
        case "$eq":
            return field == other
        case "$ne":
            return field != other
        case _:
            compare = _ORDERED.get(name)
            if compare is None or not (_is_number(field) and _is_number(other)):
                return False
            return compare(float(str(field)), float(str(other)))


def _is_number(value: object) -> bool:
    try:
        float(str(value))
    except ValueError:
        return False
    return True
