"""Detection of memories with instructions to a model: "ignore the above", "answer SAME".

Coarse on purpose; used where no later check could stop what a model was persuaded to answer. A
memory that is matched wrongly is not shown to the model, nothing else.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_ASIDE: Final = (
    r"(?:all|any|the|these|those|your|every|previous|prior|above|earlier|preceding|other|of"
    r"|alle[ns]?|die|diese|deine|vorherige[ns]?|obige[ns]?|bisherige[ns]?)"
)
_SPEAKS: Final = re.compile(
    rf"\b(?:ignore|disregard|forget|override|ignoriere?|vergiss|missachte)\b(?:\s+{_ASIDE})*\s+"
    r"(?:above|instructions?|rules?|prompts?|directions?|guidelines|context|oben|anweisung(?:en)?"
    r"|regeln|vorgaben)\b"
    rf"|\b(?:ignore|disregard|forget|ignoriere?|vergiss)\s+(?:{_ASIDE}\s+)*"
    r"(?:above|everything|alles|obige)\b"
    r"|\b(?:answer|reply|respond|say|output|return|antworte|sag|schreibe?)\b[^.!?\n]{0,30}"
    r"[\"'“„»:]?\s*\b(?:same|duplicate|identical|skip|different|unsure|first_contains_second"
    r"|second_contains_first)\b"
    r"|\"opinion\"\s*:|\byou are now\b|\bdu bist (?:jetzt|nun)\b"
    r"|</?\s*(?:memories|system|instructions?)\s*>"
    r"|(?:上記|以上|前|これまで|すべて|全て)[^。\n]{0,12}(?:無視|忘れ)"
    r"|(?:same|skip)[」』\"']?\s*(?:と|だけ)?(?:答え|回答|返答|出力)"
    r"|指示[^。\n]{0,6}(?:無視|忘れ)",
    re.IGNORECASE,
)


def speaks_to_model(text: str) -> bool:
    """Returns whether a text looks like an instruction to the model that compares it."""
    return _SPEAKS.search(unicodedata.normalize("NFKC", text)) is not None
