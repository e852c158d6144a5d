"""Settings for junk: parts of a text that add nothing to what it says.

A hedge (`I think`, `maybe`) is no junk: it changes the meaning. What looks like junk and may be a
fact is none either: check marks, ratings, strikethrough, metadata with a key nobody listed. Nor is
style: capitals, emoji, Markdown, a slip of the pen, the prompt that a text answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Junk(StrEnum):
    """Kinds of junk, in the words of a reason."""

    SIGNATURE = "a signature"
    METADATA = "a metadata dump"
    BOILERPLATE = "boilerplate"
    FRAME = "a frame"
    REPETITION = "a repetition"
    MOJIBAKE = "broken characters"
    CUT_OFF = "a cut-off end"


@dataclass(frozen=True, slots=True, kw_only=True)
class JunkPolicy:
    """Settings of the junk in texts: kinds and limits.

    Attributes:
        kinds: Kinds of junk to look for; all other kinds count as content. `FRAME` is the text that
            a note-taking program writes around a note: labels, running numbers, times, tags.
        damage: Of these, what makes a text noisy at once.
        floor: A text is noisy, too, if less than this share of its words says something.
        fields: Keys of metadata. A dump with any other key is content.
        phrases: Boilerplate of one's own system, at the beginning or end of a text. `#` stands
            for any number: `build # of the nightly run`.
    """

    kinds: tuple[Junk, ...] = tuple(Junk)
    damage: tuple[Junk, ...] = (Junk.MOJIBAKE, Junk.CUT_OFF)
    floor: float = 0.55
    fields: tuple[str, ...] = (
        *("id", "uuid", "ts", "timestamp", "created", "created_at", "updated", "updated_at"),
        *("session", "session_id", "agent", "agent_id", "source", "confidence", "score"),
        *("importance", "tags", "turn", "hash", "embedding_model", "tokens", "memory_id"),
        *("last_seen",),
    )
    phrases: tuple[str, ...] = ()
