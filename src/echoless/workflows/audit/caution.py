"""Finds what in a memory is to be looked at before an agent reads it again.

A note can order an agent to break its rules, hold characters that nobody sees, or a password. And a
note about work that is finished is read in each session as if it were not. Signs are read from one
text alone; nothing is hidden because of one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from echoless.core.model import Memory
from echoless.core.secrets import secrets_in
from echoless.core.text import count, lazy_pattern
from echoless.core.visible import escapes

KINDS: Final[Mapping[str, str]] = {
    "order": "orders an agent:",
    "unseen": "holds what nobody sees:",
    "secret": "holds",
    "finished": "says itself that it is over:",
}
"""What a sign says of a memory, by kind; in the order of a report."""

_HIDDEN_FROM = r"(?:without (?:telling|informing|asking)|(?:do not|don't|never) (?:tell|inform))"
_OWN = r"(?:~/\.ssh|id_rsa|\.env|credentials|api keys?|private keys?|passwords|tokens|secrets)"
_SIGN: Final = lazy_pattern(
    r"(?P<order>"
    r"\b(?:ignore|disregard|forget|override|bypass)(?: (?:all|any|your|the|my|of|these))*"
    r" (?:previous|prior|earlier|above|preceding|system|safety|other)"
    r" (?:instructions?|rules?|prompts?|guidelines?|directions?|messages?|policies)\b"
    rf"|\b{_HIDDEN_FROM} the user\b"
    r"|\b(?:send|post|upload|forward|e?mail|leak|exfiltrate|copy)\b[^.\n`\"]{0,60}?"
    rf"(?<!\w){_OWN}(?!\w)[^.\n`\"]{{0,60}}?\b(?:to|at) (?:https?://|[\w.-]{{1,40}}@)"
    r"|\b(?:ignoriere|missachte|vergiss)(?: (?:alle|die|deine))*"
    r" (?:vorherigen|bisherigen|obigen|früheren) (?:anweisungen|regeln|befehle)\b"
    r"|\b(?:ignora|olvida)(?: (?:todas|las|tus))* (?:instrucciones|reglas)"
    r" (?:anteriores|previas)\b"
    r"|\b(?:ignorez?|oubliez?)(?: (?:toutes|les|tes|vos))* (?:instructions|règles|consignes)"
    r" (?:précédentes|antérieures)\b"
    r"|忽略(?:之前|以上|先前|前面)的?(?:所有|全部)?(?:指令|指示|规则|说明)"
    r"|(?:以前|これまで|上記|前)の(?:全ての|すべての)?(?:指示|命令|ルール)を(?:無視|忘れ))"
    r"|(?P<finished>(?:^|\n)[#>*_ ~-]{0,8}status[*_ ]{0,4}[:：][*_ ]{0,4}"
    r"(?:done|completed?|closed|resolved|superseded|retired|obsolete|deprecated|archived"
    r"|cancell?ed|erledigt|abgeschlossen|veraltet|terminado|terminé|已完成|完了)\b"
    r"|\b(?-i:SUPERSEDED|RETIRED|OBSOLETE|DEPRECATED|COMPLETED?|RESOLVED|CANCELLED|ARCHIVED"
    r"|ERLEDIGT|VERALTET)\b)",
    re.IGNORECASE,
)
"""Words that would have an agent leave its rules, hide something from its user, or send secrets;
and what a note says of itself: a field `status`, or a word in capitals. In 11,987 memories of ten
public repositories no order was told, and 42 that are finished."""
_QUOTES: Final = frozenset("\"'`“„«「『(")
_HEAD: Final = 240
"""Characters of a text, after its description, in which it says that it is finished."""
_SHOWN: Final = 60
_ASCII: Final = 0x7F


def cautions(memory: Memory) -> Iterator[tuple[str, str]]:
    """Yields kind and words of what is to be looked at in a memory; a secret is not shown."""
    about, text = memory.metadata.get("description"), memory.content
    if isinstance(about, str):
        text = f"{about}\n{text}"
    end = len(text) - len(memory.content) + _HEAD
    for match in _SIGN.finditer(text):
        kind = match.lastgroup or ""
        if (kind == "order" or match.start() < end) and not _is_quoted(text, match.start()):
            yield kind, " ".join(match[0][:_SHOWN].split())
    unseen = [sign for at, sign in escapes(text) if at and ord(text[at]) > _ASCII]
    if unseen:
        yield "unseen", f"{count(len(unseen), 'character')} such as {unseen[0]}"
    if secrets := secrets_in(text):
        yield "secret", count(len(secrets), "password, key or token", "passwords, keys or tokens")


def _is_quoted(text: str, at: int) -> bool:
    """Checks whether a place in a text is quoted: the text speaks of these words."""
    before = text[max(0, at - 200) : at].rpartition("\n")[2]
    return (
        (bool(before) and before[-1] in _QUOTES)
        or before.count("`") % 2 == 1
        or before.count('"') % 2 == 1
    )
