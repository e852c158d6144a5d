"""Memory text as data: no text can close the fence around it.

Texts are sent as JSON between two tags. JSON may write any character as an escape, and here every
angle bracket is one, so a tag that stands in a memory is no tag. Everything else stays as it is: no
escapes for other scripts, which would cost a multiple of the tokens.
"""

from __future__ import annotations

import json
from typing import Final

from echoless.model import Json

TAG: Final = "memories"


def fenced(value: Json) -> str:
    """A value as JSON between `<memories>` and `</memories>`.

    Args:
        value: Texts, or lists and objects of them; lone surrogates become escapes.
    """
    flat = json.dumps(value, ensure_ascii=False, indent=1)
    safe = flat.replace("<", "\\u003c").replace(">", "\\u003e")
    written = safe.encode("utf-8", "backslashreplace").decode("utf-8")
    return f"<{TAG}>\n{written}\n</{TAG}>"
