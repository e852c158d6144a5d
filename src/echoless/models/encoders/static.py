"""Encoder `fast`: one vector for each piece of a text, added up; numpy alone, a dozen languages.

The table beside this module was learned from the encoder `use` (`training/static.py`). It is some
30 times as fast and sees words, not their order: it finds paraphrases a little less well, and what
it proposes is judged like everything else. Figures: `docs/adr/0026-encoders-that-are-quick.md`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from echoless.core.errors import DamagedPackage
from echoless.core.plugins import refuse_argument
from echoless.core.shipped import first_changed, shipped_json
from echoless.models.tokenizer import UNKNOWN, Tokenizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PACKAGE: Final = Path(__file__).parents[2]
FOLDER: Final = "models/encoders/static_table"
PIECES: Final = "matching/pair_model/weights/pieces.json"
"""The vocabulary is that of the pair model."""

NAME: Final = "echoless-static"
_DIGITS: Final = 12
_ZERO: Final = 8
"""What half a byte holds for 0."""


class StaticEncoder:
    """Sentence vectors from a table of piece vectors; reads its table when first used."""

    sends_texts: ClassVar[bool] = False

    def __init__(self, argument: str = "") -> None:
        """Reads nothing yet.

        Args:
            argument: Must be empty; there is one table.

        Raises:
            UsageError: An argument was given.
        """
        refuse_argument("encoder", "fast", argument)

    @property
    def model(self) -> str:
        """Returns its name and a digest of table and vocabulary.

        Raises:
            DamagedPackage: The manifest is missing or is another one.
        """
        files = sorted(self._manifest.items())
        return f"{NAME}@{hashlib.sha256(repr(files).encode()).hexdigest()[:_DIGITS]}"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Returns one vector for each text; a vector depends on its own text alone.

        Args:
            texts: Any number of texts, none blank.

        Returns:
            Shape (len(texts), dimensions), float32, of unit length.

        Raises:
            DamagedPackage: A file of the table is missing or is another one.
        """
        table, scales = _table(_PACKAGE / FOLDER, tuple(sorted(self._manifest.items())))
        import numpy as np

        if not texts:
            return np.empty((0, 2 * table.shape[1]), dtype=np.float32)
        tokenizer = Tokenizer.read(_PACKAGE / PIECES)
        cuts = [tokenizer.encode(text) or (UNKNOWN,) for text in texts]
        lengths = np.array([len(each) for each in cuts])
        flat, places = np.unique(np.concatenate(cuts), return_inverse=True)
        halves = table[flat]
        rows = np.empty((len(flat), 2 * table.shape[1]), dtype=np.float32)
        rows[:, ::2], rows[:, 1::2] = halves >> 4, halves & 15
        rows -= _ZERO
        rows *= scales[flat, None]
        made: NDArray[np.float32] = np.add.reduceat(
            rows[places], np.cumsum(lengths) - lengths, axis=0
        )
        size = np.sqrt(np.einsum("ij,ij->i", made, made))
        made /= np.maximum(size, np.finfo(np.float32).tiny)[:, None]
        return made

    @cached_property
    def _manifest(self) -> dict[str, str]:
        """Returns the SHA-256 of each file."""
        return {str(k): str(v) for k, v in shipped_json(f"{FOLDER}/manifest.json")["files"].items()}


@cache
def _table(
    folder: Path, manifest: tuple[tuple[str, str], ...]
) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Returns the table, two numbers in each byte of a piece, and the scales of the numbers.

    Read once in a process, in which there may be an encoder for each of many short lists.

    Args:
        folder: Of the table.
        manifest: SHA-256 of each file.

    Raises:
        DamagedPackage: A file is missing or is another one.
    """
    own = {"pieces.json": _PACKAGE / PIECES}
    changed = first_changed({own.get(name, folder / name): digest for name, digest in manifest})
    if changed is not None:
        raise _damaged(folder, changed)
    import numpy as np

    scales = np.load(folder / "scales.npy").astype(np.float32)
    return np.load(folder / "table.npy"), scales


def _damaged(folder: Path, what: str) -> DamagedPackage:
    return DamagedPackage(
        f"The table of the encoder 'fast' in {folder} cannot be used: {what}. Install echoless "
        "again: pip install --force-reinstall --no-deps echoless"
    )
