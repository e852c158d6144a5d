"""Texts that programs often handle badly, for fuzzers and test suites."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

TEXTS: Final[tuple[str, ...]] = tuple(
    text * times
    for text, times in json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
)
"""Control characters, invisible and bidirectional ones, forms of one letter, numbers too long, deep
brackets, negations, paths, queries, instructions. All are valid Unicode without lone surrogates."""
