"""Metadata that ego-mcp keeps with a memory, checked and in the form of its records."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from echoless.core.errors import UsageError
from echoless.core.model import Json

EMOTIONS: Final = frozenset(
    {
        *("happy", "sad", "surprised", "moved", "excited", "nostalgic", "curious", "neutral"),
        *("melancholy", "anxious", "contentment", "frustrated", "calm", "contemplative"),
        *("thoughtful", "grateful", "vulnerable", "content", "fulfilled", "touched", "concerned"),
        *("hopeful", "peaceful", "love", "warm", "lonely", "afraid", "ashamed", "bored", "angry"),
    }
)
"""Emotions ego-mcp knows; any other is kept as neutral, as it would read it."""

CATEGORIES: Final = (
    "daily",
    "philosophical",
    "technical",
    "memory",
    "observation",
    "feeling",
    "conversation",
    "introspection",
    "relationship",
    "self_discovery",
    "dream",
    "lesson",
)

_NEUTRAL: Final = "neutral"
_DAILY: Final = "daily"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordMetadata:
    """Checked metadata of a memory.

    Attributes:
        emotion: The primary one.
        secondary: Others.
        intensity: 0 to 1.
        importance: 1 to 5.
        category: One of `CATEGORIES`.
        valence: -1 to 1.
        arousal: 0 to 1.
        body_state: JSON of an object, or empty.
        tags: In order, each once.
        private: Seen by private recalls only.
    """

    emotion: str
    secondary: tuple[str, ...]
    intensity: float
    importance: int
    category: str
    valence: float
    arousal: float
    body_state: str
    tags: tuple[str, ...]
    private: bool

    def fields(self, at: datetime) -> dict[str, Json]:
        """Returns the metadata of a new record, every key the program writes.

        Args:
            at: When it is made; with an offset.
        """
        return {
            "emotion": self.emotion,
            "secondary": ",".join(self.secondary),
            "intensity": self.intensity,
            "importance": self.importance,
            "category": self.category,
            "timestamp": at.isoformat(),
            "valence": self.valence,
            "arousal": self.arousal,
            "body_state": self.body_state,
            "tags": ",".join(self.tags),
            "linked_ids": "[]",
            "is_private": self.private,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenMetadata:
    """Metadata as a caller gives it; see `save_with_auto_link`."""

    emotion: str
    secondary: str | Sequence[str]
    intensity: float
    importance: int
    category: str
    valence: float
    arousal: float
    body_state: str | Mapping[str, Json]
    tags: str | Sequence[str]
    private: bool

    def checked(self) -> RecordMetadata:
        """Checks the metadata.

        Raises:
            UsageError: A number is out of range, or the body state is no object.
        """
        if type(self.importance) is not int or not 1 <= self.importance <= 5:
            raise UsageError(
                f"importance must be a whole number from 1 to 5, not {self.importance!r}."
            )
        emotion, kind = self.emotion.strip().lower(), self.category.strip().lower()
        return RecordMetadata(
            emotion=emotion if emotion in EMOTIONS else _NEUTRAL,
            secondary=_listed(self.secondary),
            intensity=_between("intensity", self.intensity, 0.0),
            importance=self.importance,
            category=kind if kind in CATEGORIES else _DAILY,
            valence=_between("valence", self.valence, -1.0),
            arousal=_between("arousal", self.arousal, 0.0),
            body_state=_body_state(self.body_state),
            tags=_listed(self.tags),
            private=self.private,
        )


def _listed(value: str | Sequence[str]) -> tuple[str, ...]:
    """Returns the words of a list or text; a comma always parts them, as in the record."""
    texts = [value] if isinstance(value, str) else value
    words = (word.strip() for text in texts for word in text.split(","))
    return tuple(dict.fromkeys(word for word in words if word))


def _between(name: str, value: float, least: float) -> float:
    """Checks a number from `least` to 1."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or not least <= value <= 1:
        raise UsageError(f"{name} must be a number from {least:g} to 1, not {value!r}.")
    return float(value) + 0.0  # Chroma does not give a negative zero back


def _body_state(value: str | Mapping[str, Json]) -> str:
    """Returns the JSON of an object, or an empty text for an empty one."""
    if isinstance(value, Mapping):
        return json.dumps(dict(value), ensure_ascii=False) if value else ""
    if not value.strip():
        return ""
    try:
        parsed = json.loads(value)
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        raise UsageError(f"body_state must be a JSON object or empty, not {value!r}.")
    return value
