"""Location of ego-mcp's memories and source of vectors, from the options of its commands."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from echoless.cli.outcome import say_notes
from echoless.core.errors import InputError, UsageError
from echoless.core.model import Json
from echoless.integrations.ego_mcp.merge import Embed
from echoless.models.encoders.registry import open_encoder
from echoless.stores import Store, open_store

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
    """Returns the URL of the collection of a data folder."""
    if store and "://" in store:
        return store
    named = store or os.environ.get(_DATA)
    data = Path(named).expanduser() if named else Path.home() / ".ego-mcp" / "data"
    return f"chroma:///{data}#{_COLLECTION}"


@contextmanager
def opened(url: str) -> Iterator[Store]:
    """Opens the collection; its notes are printed at the end."""
    with open_store(url) as store:
        yield store
        say_notes(store)


def embed_by(encoder: str | None, vector_file: Path | None) -> Embed:
    """Returns what makes the vector of a text: an encoder, or a file that holds the vector.

    Args:
        encoder: Name of an encoder, or None.
        vector_file: A JSON list of numbers, or None.

    Raises:
        UsageError: Not exactly one of both is named.
        InputError: The file holds no vector.
    """
    if (encoder is None) == (vector_file is None):
        raise UsageError("A new text needs its vector: name --encoder or --vector, one of them.")
    if vector_file is not None:
        try:
            row: Json = json.loads(vector_file.read_text("utf-8"))
        except (OSError, ValueError) as problem:
            raise InputError(f"{vector_file} cannot be read as JSON ({problem}).") from problem
        values = row if isinstance(row, list) else []
        vector = [float(each) for each in values if type(each) in {int, float}]
        if not vector or len(vector) < len(values):
            raise InputError(f"{vector_file} is no vector: a JSON list of numbers is expected.")
        return lambda _texts: [vector]
    opened_encoder = open_encoder(encoder or "")
    if opened_encoder is None:
        raise UsageError(f"--encoder {encoder} encodes nothing. Name one of `echoless encoders`.")
    return lambda texts: opened_encoder.encode(texts).tolist()
