"""The filters of LangGraph's searches, for values that lie beside the store.

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
    """Whether a value meets a filter; an operator that is unknown is met by nothing."""
    return all(_holds(value.get(key), condition) for key, condition in wanted.items())


def _holds(found: object, condition: object) -> bool:
    if not isinstance(condition, Mapping):
        return found == condition
    if any(str(key).startswith("$") for key in condition):
        return all(_compared(found, str(name), other) for name, other in condition.items())
    return isinstance(found, Mapping) and meets(found, condition)


def _compared(found: object, name: str, other: object) -> bool:
    match name:
        case "$eq":
            return found == other
        case "$ne":
            return found != other
        case _:
            compare = _ORDERED.get(name)
            if compare is None or not (_is_number(found) and _is_number(other)):
                return False
            return compare(float(str(found)), float(str(other)))


def _is_number(value: object) -> bool:
    try:
        float(str(value))
    except ValueError:
        return False
    return True
