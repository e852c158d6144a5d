"""Which memories can be compared, and why the others cannot."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Final

from echoless.core.model import FILE, Memory
from echoless.core.profiles import SAFE, Profile
from echoless.core.run_notes import Tally
from echoless.core.text import is_blank, loose, unreadable, utf16_length
from echoless.core.timestamps import instant, now

MAX_LENGTH: Final = 1_000_000
"""Characters of a memory, at most; longer ones are counted as skipped. Far above any real memory,
far below what would stall a comparison."""

MARKED: Final = "already marked"
TOO_SHORT: Final = "too short"
EXPIRED: Final = "expired"
NOT_LOOKED_AT: Final = "not looked at by the profile"
LEADS: Final = "a line that leads what follows"
"""Reasons in the tally that other packages look up."""


def eligible(
    memories: Mapping[str, Memory], marked: Container[str], tally: Tally, profile: Profile = SAFE
) -> list[Memory]:
    """Returns the memories that can be compared; the others are counted with the reason.

    Args:
        memories: By id.
        marked: Ids that earlier runs have hidden.
        tally: Takes the others.
        profile: Says which memories it covers, which are too short, and which have expired.
    """
    comparable = []
    moment = instant(now())
    for memory in memories.values():
        reason = _reason_to_skip(memory, marked, profile, moment)
        if reason:
            tally.skip(reason, memory.id)
        else:
            comparable.append(memory)
    return comparable


def _reason_to_skip(
    memory: Memory, marked: Container[str], profile: Profile, moment: int | None
) -> str | None:
    """Returns why a memory cannot be compared, None if it can."""
    if profile.only and not profile.looks_at(memory):
        return NOT_LOOKED_AT
    if memory.id in marked:
        return MARKED
    reason = unfit(memory.content)
    if profile.shortest and reason in {None, "empty"}:
        reason = TOO_SHORT if utf16_length(loose(memory.content)) < profile.shortest else reason
    if reason is None and profile.expiry and expired(profile.expires(memory), moment):
        return EXPIRED
    return LEADS if reason is None and leads(memory) else reason


def leads(memory: Memory) -> bool:
    """Returns whether a memory is a line of a file that leads the next ones: `Missing:`.

    Wherever it stands again it leads something else, which would lose it.
    """
    text = memory.content.rstrip("*_ \n")
    if FILE not in memory.native or "\n" in text or not text.endswith((":", "\uff1a")):
        return False
    return not text.split()[-1][:-1].startswith(":")  # an emoji in words, `:rocket:`, leads nothing


def expired(end: str | None, moment: int | None) -> bool:
    """Returns whether a stored time has come; one that cannot be read has not."""
    ends = instant(end)
    return ends is not None and moment is not None and ends <= moment


def unfit(text: str) -> str | None:
    """Returns why a text cannot be compared with any other, or None."""
    if len(text) > MAX_LENGTH:
        return "too long"
    if is_blank(text):
        return "empty"
    return "unreadable text" if unreadable(text) else None
