"""Settings for junk: parts of a text that add nothing to what it says.

A hedge (`I think`, `maybe`) is no junk: it changes the meaning. What looks like junk and may be a
fact is none either: check marks, ratings, strikethrough, metadata with a key nobody listed. Nor is
style: capitals, emoji, a slip of the pen, the prompt that a text answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Junk(StrEnum):
    """Kinds of junk, in the words of a reason."""

    CAPTURE_TIME = "a capture time"
    LABEL = "a label"
    COUNTER = "a counter"
    LOG_PREFIX = "a log prefix"
    HASHTAGS = "hash tags"
    SAVED_MARK = "a saving mark"
    SIGNATURE = "a signature"
    HANDOVER = "handover boilerplate"
    METADATA = "a metadata dump"
    BOILERPLATE = "boilerplate"
    FRAME = "a frame"
    REPETITION = "a repetition"
    MARKDOWN = "Markdown around it"
    HTML = "HTML"
    MOJIBAKE = "broken characters"
    CUT_OFF = "a cut-off end"


@dataclass(frozen=True, slots=True, kw_only=True)
class JunkPolicy:
    """Settings that say what counts as junk.

    Attributes:
        kinds: What is looked for; what is left out counts as content. `FRAME` is what the judge
            takes off besides; where counted numbers matter it has to be left out, too.
        damage: Of these, what makes a text noisy at once.
        floor: A text is noisy, too, if less than this share of its words says something.
        counted: Words before a number that only counts notes (`Session 14`). Their numbers do not
            matter; take out `session` where sessions are what the memories are about.
        fields: Keys of metadata. A dump with any other key is content.
        phrases: Boilerplate of one's own system, at the beginning or end of a text. `#` stands
            for any number: `build # of the nightly run`.
    """

    kinds: tuple[Junk, ...] = tuple(Junk)
    damage: tuple[Junk, ...] = (Junk.MOJIBAKE, Junk.CUT_OFF)
    floor: float = 0.55
    counted: tuple[str, ...] = (
        *("session", "turn", "note", "memory", "mem", "entry", "record", "fact", "observation"),
        *("message", "msg", "chunk", "checkpoint", "conversation", "chat"),
        *("sitzung", "notiz", "eintrag", "fakt", "nachricht", "gespräch", "runde"),
        *("セッション", "メモ", "記録", "会話", "ターン"),
    )
    fields: tuple[str, ...] = (
        *("id", "uuid", "ts", "timestamp", "created", "created_at", "updated", "updated_at"),
        *("session", "session_id", "agent", "agent_id", "source", "confidence", "score"),
        *("importance", "tags", "turn", "hash", "embedding_model", "tokens", "memory_id"),
        *("last_seen",),
    )
    phrases: tuple[str, ...] = ()
