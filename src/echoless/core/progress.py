"""Type of the callback that is told the progress of a run."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Told (stage, done, in all); in all is 0 where it is not known."""
