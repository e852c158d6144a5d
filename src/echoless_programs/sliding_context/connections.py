"""Opens the table, the writing model and the embedding model of the flags, and probes them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from echoless.core.errors import EcholessError, EncoderError, ForeignStore, ModelError
from echoless.core.json_codec import floats_to_bytes
from echoless.core.model import Vector
from echoless.core.settings import Choices, layered, resolve
from echoless.models.encoders.openai import OpenAIEncoder
from echoless.models.llm import Embed, Model, Prompt, registry
from echoless.models.llm.anthropic import AnthropicModel
from echoless.models.llm.counted_model import CountedModel
from echoless_programs.sliding_context.arguments import ModelArgs
from echoless_stores.lancedb.layout import OPENAI_MODELS, SLIDING_CONTEXT
from echoless_stores.lancedb.store import LanceStore

WHO: Final = "sliding-context"

T = TypeVar("T")


def insist_on_layout(store: LanceStore) -> None:
    """Refuses a table of another layout: nothing in it would keep direct and group chats apart.

    Raises:
        ForeignStore: The table has other columns.
    """
    if store.layout.name != SLIDING_CONTEXT:
        raise ForeignStore(
            f"{store.url} has other columns than sliding-context writes. Use `echoless dedup` with "
            "a map of its columns instead."
        )


def open_model(args: ModelArgs) -> CountedModel:
    """Opens the model that writes, over the network: Anthropic's, or `NAME:ARGUMENT`.

    Limits come from the environment and `echoless.toml`.

    Raises:
        ModelError: There is no key.
        MissingExtra: Its library is not installed.
        UsageError: A limit is none.
    """
    limits = resolve(layered(Choices())).limits
    if args.model and ":" in args.model:
        named = registry.open_model(args.model, limits)
        if named is not None:
            return named
    if not args.api_key:
        raise ModelError(
            f"{WHO} needs a key for the model that merges: --api-key or ANTHROPIC_API_KEY. "
            "--no-llm merges without a model."
        )
    model = AnthropicModel(args.model or "", key=args.api_key, what=WHO)
    return CountedModel(model, limits)


def open_embed(args: ModelArgs, dimensions: int | None) -> Embed:
    """Opens the embedding model, over the network.

    Args:
        args: The flags.
        dimensions: Length of the table's vectors; None where it is free.

    Raises:
        EncoderError: There is no key, or no known model makes vectors of that length.
        MissingExtra: Its library is not installed.
    """
    model = args.embedding_model or OPENAI_MODELS.get(dimensions or 0)
    if model is None:
        raise EncoderError(
            f"The vectors of the table have {dimensions or 'any number of'} numbers, which tells "
            "no model. Name it with --embedding-model."
        )
    try:
        encoder = OpenAIEncoder(model, key=args.embedding_api_key)
    except EcholessError as problem:
        raise EncoderError(f"{problem} --embedding-api-key gives one here.") from problem

    def embed(texts: Sequence[str]) -> Sequence[Sequence[float]]:
        rows: list[list[float]] = encoder.encode(texts).tolist()
        return rows

    return embed


def probe(model: Model | None, embed: Embed, dimensions: int) -> None:
    """Asks both models for something small, before anything is changed.

    Raises:
        ModelError: The model that merges does not answer.
        EncoderError: The other one does not, or with vectors that do not belong in the table.
    """
    if model is not None:
        prompt = Prompt(instruction="Reply with the word OK.")
        answer = _asked(lambda: model.answer(prompt), "The model that merges", ModelError)
        if not answer.text:
            raise ModelError("The model that merges answered with something else than a text.")
    vector_of("probe", embed, "", dimensions)


def vector_of(text: str, embed: Embed, model: str, dimensions: int | None) -> Vector:
    """Returns the vector of a text.

    Args:
        text: The text.
        embed: The embedding model.
        model: What its vectors are called.
        dimensions: Length of the table's vectors; None where any will do.

    Raises:
        EncoderError: The embedding model failed, or its vector does not belong in the table.
    """
    rows = _asked(
        lambda: [[float(each) for each in row] for row in embed([text])],
        "The embedding model",
        EncoderError,
    )
    if len(rows) != 1:
        raise EncoderError(f"The embedding model gave {len(rows)} vectors for one text.")
    (row,) = rows
    if dimensions is not None and len(row) != dimensions:
        raise EncoderError(
            f"The embedding model gives vectors of {len(row)} numbers, the table holds "
            f"{dimensions}. Name the model of the table with --embedding-model."
        )
    if not any(row) or not all(map(math.isfinite, row)):
        raise EncoderError("The embedding model gave a vector that is zero or not finite.")
    return Vector(model, floats_to_bytes(row, model))


def cosine_similarity(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Returns the cosine of two vectors, rounded to six decimals.

    Returns:
        -1 to 1; None where they cannot be compared: another length, zero, or not finite.
    """
    from echoless.blocking.vector_join import exact_join

    return exact_join.cosine(one, other)


def _asked(ask: Callable[[], T], who: str, kind: type[EcholessError]) -> T:
    """Returns the answer of a model; a failure becomes an error of this kind."""
    try:
        return ask()
    except EcholessError:
        raise
    except Exception as problem:  # a callable that was handed in may raise anything
        raise kind(f"{who} failed ({type(problem).__name__}: {problem}).") from problem
