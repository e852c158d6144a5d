"""Near-equal names of entities: `Auth Service`, `auth-service`, `auth_service`, `AuthService`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from echoless.stores.mcp_memory.graph_lines import GraphLine

_GAP: Final = re.compile(r"(?<=(.))[\s_\-‐-―.]+(?=(.))", re.DOTALL)
_NAMED: Final = 3


def name_key(name: str) -> str:
    """Returns a form that near-equal names share: no case, and no separators within words.

    White space, hyphens, underscores and full stops between two characters go, unless both are
    digits: `v1.2` and `v12` differ. All other characters count: `C` and `C++`, `v1` and `v2`,
    `service` and `services` differ.
    """
    text = unicodedata.normalize("NFKC", name).strip().casefold()
    return _GAP.sub(lambda gap: " " if gap[1].isdigit() and gap[2].isdigit() else "", text)


def alike_note(lines: Iterable[GraphLine], url: str) -> list[str]:
    """Returns a sentence about entities whose names and types are near-equal; none without such.

    Args:
        lines: Of the file.
        url: Of the observations.
    """
    alike: dict[tuple[str, str], set[str]] = {}
    for line in lines:
        if line.entity is not None:
            key = (name_key(line.entity.name), name_key(line.entity.type))
            alike.setdefault(key, set()).add(line.entity.name)
    groups = [sorted(names) for names in alike.values() if len(names) > 1]
    if not groups:
        return []
    examples = "; ".join(" = ".join(map(repr, names)) for names in groups[:_NAMED])
    more = f"; and {len(groups) - _NAMED:,} more" if len(groups) > _NAMED else ""
    look = f"`echoless audit '{url}#entities'`"
    return [f"Entities that may be one: {len(groups):,} ({examples}{more}). Look at them: {look}."]
