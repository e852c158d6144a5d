"""What a model that writes, and one that embeds, have to be: callables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

Complete: TypeAlias = Callable[[str], str]
"""From a prompt to the answer. It may propose a text; it never removes anything."""

Embed: TypeAlias = Callable[[Sequence[str]], Sequence[Sequence[float]]]
"""From texts to one vector for each, all of one length."""
