"""Extraction of JSON objects from a model's answer."""

from __future__ import annotations

import json
from typing import Final

from echoless.core.model import JsonObject

_READ: Final = 60_000
"""Characters of an answer that are searched, from its end."""

_FAILURES: Final = 2_000
"""Opening braces that open nothing, after which a text is no answer: each costs a look ahead."""


def objects_with(text: str, key: str) -> list[JsonObject]:
    """Returns all outermost JSON objects in a text that hold a key, in order.

    Code fences, thoughts before the answer and words around it are passed over; an object that is
    cut off is none.

    Args:
        text: What the model wrote.
        key: For example `opinion`.
    """
    text = text[-_READ:]
    decoder, objects = json.JSONDecoder(), list[JsonObject]()
    at, failures = text.find("{"), 0
    while at >= 0 and failures < _FAILURES:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end, failures = at + 1, failures + 1
        else:
            if key in value:
                objects.append(value)
        at = text.find("{", end)
    return objects
