"""Cuts texts into the pieces of a vocabulary: a unigram model in the manner of SentencePiece.

Of all ways to cut a word the one with the highest sum of log probabilities is taken (T. Kudo,
Subword Regularization, 2018). Own code, as the library for it brings a client for a model hub and
its dozen packages with it; a test compares both.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

SPACE: Final = "\u2581"
"""Stands for a space before a word."""
UNKNOWN: Final = 3
"""Number of the piece for what the vocabulary has no piece of."""
_PENALTY: Final = 10.0
"""How much less likely an unknown character is than the least likely piece."""
_SPECIAL: Final = 4
"""Pieces at the start of the list that stand for no text."""
_WORDS_KEPT: Final = 50_000
"""Words whose pieces are remembered."""
_GAPS: Final = re.compile(r"\s+")
_WORD: Final = re.compile(f"{SPACE}[^{SPACE}]*")


class Tokenizer:
    """Cuts texts into numbers of pieces."""

    def __init__(self, pieces: Sequence[tuple[str, float]]) -> None:
        """Takes pieces with their log probabilities; the first four are special."""
        self._pieces = {
            piece: (number, score)
            for number, (piece, score) in enumerate(pieces)
            if number >= _SPECIAL
        }
        self._longest = max(map(len, self._pieces))
        self._unknown = min(score for _, score in self._pieces.values()) - _PENALTY
        self._of_word = lru_cache(maxsize=_WORDS_KEPT)(self._cut)

    @classmethod
    @cache
    def read(cls, path: Path) -> Tokenizer:
        """Reads a JSON list of pieces and their log probabilities; a file is read once."""
        return cls(
            [(str(piece), float(score)) for piece, score in json.loads(path.read_text("utf-8"))]
        )

    def encode(self, text: str) -> tuple[int, ...]:
        """Returns the numbers of a text's pieces. A text of nothing has none."""
        plain = _GAPS.sub(" ", unicodedata.normalize("NFKC", text)).replace(" ", SPACE)
        if not plain:
            return ()
        marked = plain if plain.startswith(SPACE) else SPACE + plain
        return tuple(n for word in _WORD.findall(marked) for n in self._of_word(word))

    def _cut(self, word: str) -> tuple[int, ...]:
        """Returns the best way to cut a word (Viterbi)."""
        size = len(word)
        best: list[float] = [0.0, *[float("-inf")] * size]
        came: list[tuple[int, int]] = [(0, UNKNOWN)] * (size + 1)
        for start in range(size):
            score = best[start]
            for end in range(start + 1, min(size, start + self._longest) + 1):
                piece = self._pieces.get(word[start:end])
                if piece is not None and score + piece[1] > best[end]:
                    best[end], came[end] = score + piece[1], (start, piece[0])
                elif piece is None and end == start + 1 and score + self._unknown > best[end]:
                    best[end], came[end] = score + self._unknown, (start, UNKNOWN)
        numbers: list[int] = []
        end = size
        while end:
            start, number = came[end]
            if not (number == UNKNOWN and numbers and numbers[-1] == UNKNOWN):
                numbers.append(number)  # unknown characters in a row are one
            end = start
        return tuple(reversed(numbers))
