"""Bullets of basic-memory and Obsidian: `- [category] text #tag (context)`, `- kind [[Target]]`.

Form: docs/NOTE-FORMAT.md of basic-memory. A context stays in the text that is compared: it says
where the rest holds. Relations are no memories and are never touched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_CATEGORY: Final = re.compile(r"\[([^\[\]()\n]{2,40})\](?!\()\s+")
"""One sign in the brackets is the state of a task."""
_TAG: Final = re.compile(r"(?:(?<=\s)|^)#([\w/-]*[^\W\d][\w/-]*)")
_TAGS_AT_END: Final = re.compile(r"((?:\s+#[\w/-]*[^\W\d][\w/-]*)+)(\s+\([^()\n]*\))?\s*$")
_CONTEXT: Final = re.compile(r"\s+\([^()\n]*\)\s*$")
_RELATION: Final = re.compile(r"[\w -]{0,40}\s*\[\[[^\]\n]+\]\](?:\s*\([^()\n]*\))?")


def is_relation(content: str) -> bool:
    """Returns whether a bullet is a relation to another note."""
    return _RELATION.fullmatch(content.strip()) is not None


def category_of(content: str) -> str:
    """Returns the category of an observation; empty where it has none."""
    matched = _CATEGORY.match(content)
    return matched.group(1) if matched else ""


def tags_of(content: str) -> tuple[str, ...]:
    """Returns the tags in a text, each once, in order."""
    return tuple(dict.fromkeys(_TAG.findall(content)))


def is_tag(text: str) -> bool:
    """Returns whether a text can be written as a tag."""
    return _TAG.fullmatch(f"#{text}") is not None


def statement(content: str) -> str:
    """Returns the statement of an observation, without its category and final tags."""
    matched = _CATEGORY.match(content)
    text = content[matched.end() :] if matched else content
    first, newline, rest = text.partition("\n")
    return _TAGS_AT_END.sub(lambda m: m.group(2) or "", first).strip() + newline + rest


def with_tags(line: str, new: Sequence[str]) -> str:
    """Returns a line with more tags, inserted before a context at its end."""
    context = _CONTEXT.search(line)
    at = context.start() if context else len(line.rstrip())
    return line[:at] + "".join(f" #{tag}" for tag in new) + line[at:]


def restated(line: str, old: str, new: str) -> str | None:
    """Returns a line with another statement, category and tags untouched; None if it does not fit.

    Args:
        line: Of the file, without its end.
        old: The present statement.
        new: The statement to write.
    """
    return line.replace(old, new, 1) if line.count(old) == 1 and "\n" not in new else None
