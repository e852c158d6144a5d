"""The encoder `fast`, with its real table."""

import random
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from echoless.core.errors import DamagedPackage, UsageError
from echoless.core.text import unreadable
from echoless.models.encoders import static
from echoless.models.encoders.base import operating_point
from echoless.models.encoders.registry import open_encoder
from echoless.models.encoders.static import FOLDER, StaticEncoder
from tests.conformance.detectors import ODD_TEXTS

READABLE = [text for text in ODD_TEXTS if unreadable(text) is None and text.strip()]
WORDS = ["deploy", "key", "Zürich", "läuft", "鍵", "東京", "8080", "isn't", "naïve", "\u200b", "ok"]


@pytest.fixture(scope="module")
def encoder() -> StaticEncoder:
    made = open_encoder("fast")
    assert isinstance(made, StaticEncoder)
    return made


def test_the_same_fact_is_closer_than_another_in_two_languages(encoder: StaticEncoder) -> None:
    rows = encoder.encode(
        [
            "The deploy key expires in March.",
            "In March the deploy key will run out.",
            "Der Deploy-Schlüssel läuft im März ab.",
            "The cat sleeps on the warm router.",
        ]
    )
    assert rows.dtype == np.float32
    cosine = rows @ rows.T
    point = operating_point(encoder.model)
    assert point is not None
    assert cosine[0, 1] > point > max(cosine[0, 3], cosine[2, 3])
    assert cosine[0, 2] > 2 * max(cosine[0, 3], cosine[2, 3])


@settings(max_examples=40)
@given(texts=st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=60), max_size=12))
def test_a_vector_hangs_on_its_text_alone(texts: list[list[str]], encoder: StaticEncoder) -> None:
    wanted = [" ".join(words) for words in texts]
    together = encoder.encode(wanted)
    assert together.tobytes() == encoder.encode(wanted[::-1])[::-1].tobytes()
    assert together.tobytes() == b"".join(encoder.encode([text]).tobytes() for text in wanted)


def test_odd_texts_have_finite_vectors_of_unit_length(encoder: StaticEncoder) -> None:
    rows = encoder.encode(READABLE)
    assert np.isfinite(rows).all()
    size = np.linalg.norm(rows, axis=1)
    assert ((np.abs(size - 1) < 1e-5) | (size == 0)).all()


def test_it_needs_neither_another_package_nor_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("onnxruntime", "model2vec", "tokenizers"):
        monkeypatch.setitem(sys.modules, module, None)
    assert StaticEncoder().encode(["a text"]).shape == (1, 128)
    assert not StaticEncoder.sends_texts


def test_its_name_holds_a_digest_of_table_and_vocabulary(
    encoder: StaticEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = encoder.model
    assert named.startswith("echoless-static@")
    other = StaticEncoder()
    monkeypatch.setattr(static, "shipped_json", lambda _: {"files": {"table.npy": "another"}})
    assert other.model != named


def test_a_changed_table_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    damaged = StaticEncoder()
    assert damaged.model  # the manifest is that of the real table
    for name in ("table.npy", "scales.npy"):
        (tmp_path / name).write_bytes(random.Random(1).randbytes(99))
    monkeypatch.setattr(static, "FOLDER", str(tmp_path))
    with pytest.raises(DamagedPackage, match="reinstall"):
        damaged.encode(["a text"])


def test_an_argument_is_refused() -> None:
    with pytest.raises(UsageError, match="no argument"):
        open_encoder("fast:large")


def test_the_table_fits_into_six_megabytes() -> None:
    folder = Path(static.__file__).parents[2] / FOLDER
    assert sum(path.stat().st_size for path in folder.iterdir()) < 6_000_000
