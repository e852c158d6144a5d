"""The pair model as it ships: the same scores whatever stands beside a pair, and clear failures."""

import json
import math
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as Library

import echoless.matching.pair_model.network as network_module
from echoless.core.errors import DamagedPackage, MissingExtra
from echoless.core.model import Side
from echoless.core.run_notes import Tally
from echoless.matching.pair_model import PairScorer, Scores, open_network, scoring
from echoless.matching.pair_model.network import LONGEST_TEXT, NOT_ASKED, read_manifest
from echoless.matching.pair_model.scoring import open_scores
from echoless.models.tokenizer import Tokenizer

WEIGHTS = network_module.WEIGHTS
PAIRS = [
    ("Use pnpm, not npm.", "Packages are installed with pnpm, never with npm."),
    ("The backup runs at night.", "The backup runs at noon."),
    ("Der Server steht in Berlin.", "In Berlin steht der Server."),
    (
        "\u4f1a\u8b70\u306f\u6708\u66dc\u3067\u3059\u3002",
        "\u6bce\u9031\u6708\u66dc\u306b\u4f1a\u8b70\u304c\u3042\u308b\u3002",
    ),
    ("a", "b"),
    ("\u2705", "\u274c"),
    ("x " * 60, "y " * 60),
]
NEWS = (
    "Tom is on call for the payments service.",
    "Payments pages go to Aisha since Tom left the company.",
)


@pytest.fixture(scope="module")
def scorer() -> PairScorer:
    return PairScorer(open_network)


def test_scores_are_turned_with_the_sides(scorer: PairScorer) -> None:
    forth = scorer.score(PAIRS, Tally())
    back = scorer.score([(b, a) for a, b in PAIRS], Tally())
    assert [s and s.turned for s in back] == forth


@settings(max_examples=15)
@given(
    order=st.permutations(range(len(PAIRS))),
    size=st.integers(1, len(PAIRS)),
    threads=st.integers(1, 3),
)
def test_a_pair_scores_the_same_in_any_batch_order_and_number_of_threads(
    order: Sequence[int], size: int, threads: int
) -> None:
    scorer = PairScorer(open_network)
    alone = [scorer.score([pair], Tally())[0] for pair in PAIRS]
    for start in range(0, len(order), size):
        some = order[start : start + size]
        found = scorer.score([PAIRS[place] for place in some], Tally(), threads=threads)
        assert found == [alone[place] for place in some]


@settings(max_examples=30)
@given(st.text(max_size=60), st.text(max_size=60))
def test_any_two_texts_have_finite_scores_or_none(a: str, b: str) -> None:
    (found,) = PairScorer(open_network).score([(a, b)], Tally())
    assert found is None or all(map(math.isfinite, found))


def test_whether_a_text_replaces_another_hangs_on_which_is_newer_and_not_on_the_sides(
    scorer: PairScorer,
) -> None:
    (forth,) = scorer.score([NEWS], Tally(), newer=["b"])
    (back,) = scorer.score([NEWS[::-1]], Tally(), newer=["a"])
    assert forth is not None
    assert back == forth.turned
    (undated,), (older,) = (scorer.score([NEWS], Tally(), newer=[side]) for side in (None, "a"))
    assert undated is not None
    assert undated.replaces == NOT_ASKED < forth.replaces
    assert undated[:3] == forth[:3]
    assert older is not None
    assert older.replaces != forth.replaces


def test_an_answer_about_one_order_is_not_remembered_for_another() -> None:
    sides: list[Side | None] = [None, "a", "b"]
    first = [
        PairScorer(open_network, open_scores()).score([NEWS], Tally(), newer=[s]) for s in sides
    ]
    again = [
        PairScorer(open_network, open_scores()).score([NEWS], Tally(), newer=[s]) for s in sides
    ]
    assert first == again
    assert len({str(each) for each in first}) == len(sides)


def test_what_may_say_the_same_is_not_asked_whether_it_replaces(scorer: PairScorer) -> None:
    pair = "The gate closes at ten.", "At ten the gate is closed."
    (found,) = scorer.score([pair], Tally(), newer=["b"])
    assert found is not None
    assert found.replaces == NOT_ASKED


def test_scores_with_other_bounds_are_another_model(monkeypatch: pytest.MonkeyPatch) -> None:
    before = read_manifest(WEIGHTS)
    monkeypatch.setattr(network_module, "MAY_HOLD", 0.0)
    assert read_manifest(WEIGHTS) != before


def test_equal_texts_hold_each_other(scorer: PairScorer) -> None:
    text = "The nightly export goes to the archive bucket."
    (found,) = scorer.score([(text, "- [x] " + text)], Tally())
    assert found is not None
    assert min(found.probabilities[:2]) > 0.9
    assert found.probabilities[2] < 0.1


def test_a_text_that_is_too_long_has_no_scores_and_costs_no_time(scorer: PairScorer) -> None:
    long = "word " * 2_000_000
    assert scorer.score([(long, "word"), (long, long + "x")], Tally()) == [None, None]
    assert scorer.score([("w" * (LONGEST_TEXT + 1), "w")], Tally()) == [None]


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What the network was asked about since this was emptied."""
    asked: list[object] = []
    kind = type(open_network())
    logits = kind.logits
    monkeypatch.setattr(kind, "logits", lambda *of: asked.append(of) or logits(*of))
    return asked


def test_scores_are_remembered_and_a_damaged_file_is_no_memory(
    scorer: PairScorer, scored: list[object]
) -> None:
    cache = open_scores()
    first = PairScorer(open_network, cache)
    made = first.score(PAIRS, Tally())
    known = [pair for pair, scores in zip(PAIRS, made, strict=True) if scores is not None]
    scored.clear()
    assert first.score(known, Tally()) == [scores for scores in made if scores is not None]
    assert not scored
    cache.path.write_bytes(b"no database")
    tally = Tally()
    assert PairScorer(open_network, open_scores()).score(PAIRS, tally) == made
    assert any("cache of pair scores" in note for note in tally.notes)


def test_scores_of_another_version_of_the_library_are_not_taken_over(
    monkeypatch: pytest.MonkeyPatch, scored: list[object]
) -> None:
    pairs = [("The gate closes at ten.", "At ten the gate is closed.")]
    for _ in range(2):
        PairScorer(open_network, open_scores()).score(pairs, Tally())
    assert len(scored) == 1
    monkeypatch.setattr(scoring, "runtime", lambda: "onnxruntime 0.0")
    PairScorer(open_network, open_scores()).score(pairs, Tally())
    assert len(scored) == 2


def test_the_version_of_the_library_is_read_once_for_any_number_of_pairs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(scoring, "runtime", lambda: asked.append("asked") or "onnxruntime 0.0")
    PairScorer(open_network, open_scores()).score([(f"one {n}", "two") for n in range(9)], Tally())
    assert asked == ["asked"]


def test_a_model_that_gives_no_number_gives_no_scores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    network = open_network()
    monkeypatch.setattr(type(network), "logits", lambda *_: (float("nan"), 0.0, 0.0, 0.0))
    assert PairScorer(lambda: network).score([("one", "two")], Tally()) == [None]


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    return Path(shutil.copytree(WEIGHTS, tmp_path / "weights"))


@pytest.mark.parametrize(
    "name", ["layers.onnx", "replacing.onnx", "words.npy", "embeddings.npz", "pieces.json"]
)
def test_a_file_that_is_missing_cut_or_changed_is_refused(weights: Path, name: str) -> None:
    file = weights / name
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DamagedPackage, match=name):
        read_manifest(weights)
    changed = bytearray(whole)
    changed[len(whole) // 2] ^= 1
    file.write_bytes(bytes(changed))
    with pytest.raises(DamagedPackage, match="not as it was shipped"):
        open_network.__wrapped__(weights)
    file.unlink()
    with pytest.raises(DamagedPackage, match="missing"):
        read_manifest(weights)


@pytest.mark.parametrize("name", ["layers.onnx", "replacing.onnx"])
def test_a_foreign_model_with_matching_digests_is_told_as_unreadable(
    weights: Path, name: str
) -> None:
    import hashlib

    (weights / name).write_bytes(b"some other model")
    manifest = json.loads((weights / "manifest.json").read_text("utf-8"))
    manifest["files"][name] = hashlib.sha256(b"some other model").hexdigest()
    (weights / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(DamagedPackage, match="cannot be read"):
        scorer = PairScorer(lambda: open_network.__wrapped__(weights))
        scorer.score([NEWS], Tally(), newer=["b"])


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", '{"files": 5, "start": 1, "end": 2, "name": "x"}']
)
def test_a_manifest_of_another_form_is_refused(weights: Path, text: str) -> None:
    (weights / "manifest.json").write_text(text, "utf-8")
    with pytest.raises(DamagedPackage, match=r"manifest\.json"):
        read_manifest(weights)


def test_without_the_library_the_line_to_install_it_is_named(
    monkeypatch: pytest.MonkeyPatch, weights: Path
) -> None:
    monkeypatch.setattr(network_module, "MODULE", "a_module_nobody_has")
    with pytest.raises(MissingExtra, match=r"pip install .*a_module_nobody_has"):
        open_network.__wrapped__(weights)


def test_scores_turn_into_probabilities() -> None:
    assert Scores(0.0, 100.0, -100.0).probabilities == pytest.approx((0.5, 1.0, 0.0))


@pytest.fixture(scope="module")
def library() -> Library:
    """The same vocabulary in the library that is the model for ours."""
    listed = [tuple(each) for each in json.loads((WEIGHTS / "pieces.json").read_text("utf-8"))]
    made = Library(models.Unigram(listed, unk_id=3, byte_fallback=False))
    made.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(Regex(r"\s+"), " ")]
    )
    made.pre_tokenizer = pre_tokenizers.Metaspace("\u2581", prepend_scheme="always")
    return made


WORDS = [word for pair in PAIRS for text in pair for word in text.split()]


@settings(max_examples=200)
@given(st.lists(st.sampled_from(WORDS) | st.text("abc\u00e9\u4f1a\u308b\u0416-1. ", max_size=9)))
def test_texts_are_cut_as_the_library_cuts_them(library: Library, words: list[str]) -> None:
    text = " ".join(words)
    assert (
        list(open_network().tokenizer.encode(text))
        == library.encode(text, add_special_tokens=False).ids
    )


def test_a_text_of_several_pairs_is_cut_into_tokens_once(monkeypatch: pytest.MonkeyPatch) -> None:
    cut: list[str] = []
    plain = Tokenizer.encode

    def counted(self: Tokenizer, text: str) -> tuple[int, ...]:
        cut.append(text)
        return plain(self, text)

    monkeypatch.setattr(Tokenizer, "encode", counted)
    one, *others = (f"Nobody has cut text {number} before." for number in "7183")
    PairScorer(open_network).score([(one, other) for other in others], Tally())
    assert sorted(cut) == sorted([one, *others])
