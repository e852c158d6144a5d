"""Filters of a server for the points of some namespaces, so that it sends no others.

What a point says is decided where it is read (`record.namespace`). A filter may let through points
of other namespaces, and never leaves out one of those that are wanted. Conditions are those of
https://qdrant.tech/documentation/concepts/filtering/.
"""

from __future__ import annotations

from collections.abc import Collection
from math import isfinite
from typing import TYPE_CHECKING, Final

from echoless.core.optional import lazy_module
from echoless.core.text import has_utf8
from echoless.stores.namespace_labels import by_labels_present
from echoless.stores.qdrant.layout import Layout

if TYPE_CHECKING:
    from qdrant_client import models
else:
    models = lazy_module("qdrant_client.models")

_SPELLED: Final = {"true": True, "True": True, "false": False}
"""Texts as which a value that is no text may be read, with that value."""

_STRUCTURED: Final = ("[", "{")
"""How the texts of lists and of objects begin, which no condition compares."""


def has_filter(layout: Layout) -> bool:
    """Returns whether the namespace is a key of the payload, or made of several."""
    return bool(layout.owners) or "namespace" in layout.fields


def filter_among(layout: Layout, names: Collection[str]) -> models.Filter | None:
    """Returns a filter that all points of some namespaces pass; None where all have to be read."""
    if "" in names or not has_filter(layout):  # no condition is met by what cannot be read
        return None
    if not layout.owners:
        conditions = [_is_one_of(layout.fields["namespace"], names)]
        return models.Filter(should=list(conditions))
    either: list[models.Condition] = []
    for labels, labelled in by_labels_present(names, layout.owners).items():
        sets = {label: {values[label] for values in labelled} for label in labels}
        if any(value.startswith(_STRUCTURED) for values in sets.values() for value in values):
            return None
        must: list[models.Condition] = [_is_one_of(label, sets[label]) for label in labels]
        either.append(models.Filter(must=must))
    return models.Filter(should=either or [models.HasIdCondition(has_id=[])])


def _is_one_of(key: str, values: Collection[str]) -> models.Filter:
    """Returns the condition for points whose value under a key is read as one of some texts."""
    texts = sorted(value for value in values if has_utf8(value))
    conditions: list[models.Condition] = [
        models.FieldCondition(key=key, match=models.MatchAny(any=texts))
    ]
    for value in texts:
        if value in _SPELLED:
            match = models.MatchValue(value=_SPELLED[value])
            conditions.append(models.FieldCondition(key=key, match=match))
        number = _number(value)
        if number is not None:
            only = models.Range(gte=number, lte=number)
            conditions.append(models.FieldCondition(key=key, range=only))
    return models.Filter(should=conditions)


def _number(text: str) -> float | None:
    """Returns the number that may be read as a text, as a server compares it."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None
