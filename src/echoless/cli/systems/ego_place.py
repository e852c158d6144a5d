"""Where ego-mcp's memories lie and what embeds a text, as its commands are told."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from echoless.cli.outcome import say_notes
from echoless.errors import InputError, UsageError
from echoless.model import Json
from echoless.stores import Store, open_store
from echoless.systems.ego_mcp.acting import Embed

SYSTEM: Final = "ego-mcp"
_COLLECTION: Final = "ego_memories"
_DATA: Final = "EGO_MCP_DATA_DIR"

store_option = click.option(
    "--store",
    metavar="DATA_DIR",
    help="Data folder of ego-mcp, or the URL of its collection ($EGO_MCP_DATA_DIR or "
    "~/.ego-mcp/data by default).",
)


vector_option = click.option(
    "--vector",
    "vector_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A JSON list with the vector of the text, in place of a model.",
)


def url_of(store: str | None) -> str:
    """The URL of the collection of a data folder."""
    if store and "://" in store:
        return store
    named = store or os.environ.get(_DATA)
    data = Path(named).expanduser() if named else Path.home() / ".ego-mcp" / "data"
    return f"chroma:///{data}#{_COLLECTION}"


@contextmanager
def opened(url: str) -> Iterator[Store]:
    """The collection; what a write left behind is said at the end."""
    with open_store(url) as store:
        yield store
        say_notes(store)


def embed_by(encoder: str | None, vector_file: Path | None) -> Embed:
    """What gives the vector of a text.

    Raises:
        UsageError: Not exactly one of both is named.
    """
    if (encoder is None) == (vector_file is None):
        raise UsageError("A new text needs its vector: name --encoder or --vector, one of them.")
    if vector_file is not None:
        row = _read_vector(vector_file)
        return lambda _texts: [row]
    from echoless.vectors.registry import open_encoder  # noqa: PLC0415 - seldom asked for

    made = open_encoder(encoder or "")
    if made is None:
        raise UsageError(f"--encoder {encoder} encodes nothing. Name one of `echoless encoders`.")
    return lambda texts: made.encode(texts).tolist()


def _read_vector(path: Path) -> Sequence[float]:
    try:
        found: Json = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as problem:
        raise InputError(f"{path} cannot be read as JSON ({problem}).") from problem
    if isinstance(found, list) and found and all(type(each) in {int, float} for each in found):
        return [float(each) for each in found]
    raise InputError(f"{path} is no vector: a JSON list of numbers is expected.")
