"""Fence around memory texts in a prompt, which no text can close.

Texts are sent as JSON between two tags. JSON may write any character as an escape, and here every
angle bracket is written as one, so a tag inside a memory is no tag. All other characters stay as
they are: escapes for other scripts would cost many times the tokens.
"""

from __future__ import annotations

import json
from typing import Final

from echoless.core.model import Json

TAG: Final = "memories"


def fenced(value: Json) -> str:
    """Returns a value as JSON between `<memories>` and `</memories>`.

    Args:
        value: Texts, or lists and objects of them; lone surrogates become escapes.
    """
    flat = json.dumps(value, ensure_ascii=False, indent=1)
    safe = flat.replace("<", "\\u003c").replace(">", "\\u003e")
    written = safe.encode("utf-8", "backslashreplace").decode("utf-8")
    return f"<{TAG}>\n{written}\n</{TAG}>"
