"""The location of a Markdown store: `PATH?scope=heading&hide=archive&preset=NAME`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal
from urllib.parse import unquote

from echoless.core.errors import UsageError
from echoless.stores.markdown.presets import ScopeBy, preset_named

Hiding = Literal["archive", "comment"]

_SCOPES: Final[dict[str, ScopeBy]] = {"heading": "heading", "file": "file", "folder": "folder"}
_HIDING: Final[dict[str, Hiding]] = {"archive": "archive", "comment": "comment"}


@dataclass(frozen=True, slots=True)
class MarkdownUrl:
    """The parts of a URL after `markdown:///`.

    Attributes:
        path: The file or folder.
        scope: What separates memories that are never compared; None as the preset says.
        hide: Where hidden bullets go.
        preset: Name of the preset; empty to recognise it.
    """

    path: Path
    scope: ScopeBy | None = None
    hide: Hiding = "archive"
    preset: str = ""

    @classmethod
    def parse(cls, written: str) -> MarkdownUrl:
        """Reads a location; an existing path that holds `?` is taken as it is.

        Raises:
            UsageError: A part is not understood.
        """
        if Path(written).exists() or "?" not in written:
            return cls(Path(written))
        path, _, query = written.rpartition("?")
        given: dict[str, str] = {}
        for entry in filter(None, query.split("&")):
            key, _, value = entry.partition("=")
            given[key] = unquote(value)
        for key, known in (("scope", _SCOPES), ("hide", _HIDING)):
            if key in given and given[key] not in known:
                raise UsageError(f"{key}={given[key]} is unknown. Known: {', '.join(known)}.")
        unknown = sorted(given.keys() - {"scope", "hide", "preset"})
        if unknown:
            raise UsageError(
                f"A markdown URL has no part {unknown[0]!r}. Known: scope=heading|file|folder, "
                "hide=archive|comment, preset=NAME."
            )
        preset = preset_named(given["preset"]).name if "preset" in given else ""
        hide = _HIDING[given.get("hide", "archive")]
        return cls(Path(path), _SCOPES.get(given.get("scope", "")), hide, preset)

    def url(self, path: Path) -> str:
        """Returns the canonical form, with a path in place of the one that was given."""
        parts = [
            f"scope={self.scope}" if self.scope else "",
            f"hide={self.hide}" if self.hide != "archive" else "",
            f"preset={self.preset}" if self.preset else "",
        ]
        query = "&".join(filter(None, parts))
        return f"markdown:///{path}" + (f"?{query}" if query else "")
