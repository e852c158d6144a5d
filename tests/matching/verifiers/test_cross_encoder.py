"""The NLI cross-encoder, against a stand-in for torch's library.

What we hand to it and take from it is checked here; that its models load, and how good they are, is
not.
"""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray

from echoless import Memory
from echoless.core.errors import MissingExtra, UsageError, VerifierError
from echoless.matching.verifiers import NoOpinion, Opinion, Reply, Says
from echoless.matching.verifiers.cross_encoder import CrossEncoderVerifier

ORDERS = {
    "deberta": ("contradiction", "entailment", "neutral"),
    "upper": ("ENTAILMENT", "NEUTRAL", "CONTRADICTION"),
}


def tokenizer(a: str, b: str, *, truncation: bool) -> dict[str, list[int]]:
    assert not truncation
    return {"input_ids": [0] * (len(a.split()) + len(b.split()) + 3)}


tokenizer.model_max_length = 12  # type: ignore[attr-defined]


class CrossEncoder:
    """Entails what it holds all words of; `not` on one side contradicts."""

    def __init__(self, name: str) -> None:
        if name == "missing":
            raise OSError("missing is not a local folder")
        self.order = ORDERS.get(name, ("yes", "no"))
        self.config = SimpleNamespace(id2label=dict(enumerate(self.order)))
        self.tokenizer = tokenizer

    def predict(
        self,
        sentences: Sequence[tuple[str, str]],
        *,
        batch_size: int,
        show_progress_bar: bool,
        apply_softmax: bool,
        convert_to_numpy: bool,
    ) -> NDArray[np.float32]:
        assert apply_softmax
        assert convert_to_numpy
        assert not show_progress_bar
        if ("too", "much") in sentences:
            raise RuntimeError("out of memory")
        if ("odd", "shape") in sentences:
            return np.ones(3, dtype=np.float32)
        return np.stack([self.row(*each) for each in sentences])

    def row(self, premise: str, hypothesis: str) -> NDArray[np.float32]:
        has, needs = set(premise.split()), set(hypothesis.split())
        if "hesitant" in has:
            values = {"entailment": 0.6, "neutral": 0.4, "contradiction": 0.0}
        elif ("not" in has) != ("not" in needs):
            values = {"entailment": 0.05, "neutral": 0.05, "contradiction": 0.9}
        elif needs <= has:
            values = {"entailment": 0.97, "neutral": 0.02, "contradiction": 0.01}
        else:
            values = {"entailment": 0.1, "neutral": 0.8, "contradiction": 0.1}
        return np.array([values[label.lower()] for label in self.order], dtype=np.float32)


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("sentence_transformers")
    module.__spec__ = ModuleSpec("sentence_transformers", None)
    module.CrossEncoder = CrossEncoder  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    return module


def verify(model: str, *texts: tuple[str, str]) -> list[Reply]:
    pairs = [(Memory(id="a", content=a), Memory(id="b", content=b)) for a, b in texts]
    return list(CrossEncoderVerifier(model).verify(pairs))


def says(reply: Reply) -> Says | None:
    return reply.says if isinstance(reply, Opinion) else None


@pytest.mark.parametrize("model", list(ORDERS))
def test_entailment_both_ways_one_way_or_neither_decides(model: str) -> None:
    replies = verify(
        model,
        ("red green", "green red"),
        ("red green blue", "red green"),
        ("red", "red green"),
        ("red", "green"),
        ("red", "not red"),
        ("hesitant red", "hesitant red"),
    )
    assert [says(reply) for reply in replies] == [
        Says.SAME,
        Says.A_CONTAINS_B,
        Says.B_CONTAINS_A,
        Says.UNSURE,
        Says.DIFFERENT,
        Says.UNSURE,
    ]
    assert replies[0] == Opinion(Says.SAME, "entailment 0.97 and 0.97")
    assert replies[4] == Opinion(Says.DIFFERENT, "contradiction 0.90")


def test_texts_the_model_would_cut_are_not_compared() -> None:
    long = "red " * 11
    cut, whole = verify("deberta", (long, long), ("red", "red"))
    assert cut == NoOpinion("the texts are longer than the model reads")
    assert says(whole) is Says.SAME
    assert verify("deberta", (long, long)) == [cut]


def test_a_lone_surrogate_does_not_reach_the_tokenizer() -> None:
    (reply,) = verify("deberta", ("red \ud800", "red \ud800"))
    assert says(reply) is Says.SAME


@pytest.mark.parametrize(
    ("model", "texts", "match"),
    [
        ("missing", ("a", "b"), "cannot be loaded"),
        ("reranker", ("a", "b"), "is no NLI model: its labels are yes, no"),
        ("deberta", ("too", "much"), "out of memory"),
        ("deberta", ("odd", "shape"), r"array of shape \(3,\)"),
    ],
)
def test_its_failures_are_verifier_errors(model: str, texts: tuple[str, str], match: str) -> None:
    with pytest.raises(VerifierError, match=match):
        verify(model, texts)


def test_the_model_is_named_and_the_library_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert CrossEncoderVerifier(" some/model ").name == "cross-encoder:some/model"
    with pytest.raises(UsageError, match="verifier 'cross-encoder' needs a model"):
        CrossEncoderVerifier("")
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtra, match=r"pip install 'echoless\[sentence-transformers\]'"):
        CrossEncoderVerifier("some/model")
