"""A verifier on this machine: a cross-encoder for natural language inference (NLI).

It reads both texts together and says whether one follows from the other. Both ways: the same. One
way: the one contains the other. A contradiction either way: different. Anything else: unsure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from echoless.core.errors import VerifierError
from echoless.core.model import Memory
from echoless.core.optional import lazy_module, require_module
from echoless.core.text import valid_unicode
from echoless.matching.verifiers.base import NoOpinion, Opinion, Reply, Says
from echoless.models.encoders.registry import require_argument

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = lazy_module("numpy")

SURE: Final = 0.9
"""Probability from which an entailment counts. A choice for precision, not measured here."""

_BATCH: Final = 16


class _Model(Protocol):
    """What is used of `sentence_transformers.CrossEncoder`."""

    config: Any
    tokenizer: Any

    def predict(
        self,
        sentences: Sequence[tuple[str, str]],
        *,
        batch_size: int,
        show_progress_bar: bool,
        apply_softmax: bool,
        convert_to_numpy: bool,
    ) -> NDArray[np.floating]: ...


@dataclass(frozen=True, slots=True)
class _Labels:
    """Columns of the model's answer."""

    entailment: int
    contradiction: int
    number: int


class CrossEncoderVerifier:
    """Opinions of an NLI cross-encoder, loaded when first used."""

    sends_texts: ClassVar[bool] = False

    def __init__(self, argument: str) -> None:
        """Keeps which model to load.

        Args:
            argument: A folder, or a name such as `cross-encoder/nli-deberta-v3-base`.

        Raises:
            MissingExtra: sentence-transformers is not installed.
            UsageError: No model was named.
        """
        self._argument = require_argument("cross-encoder", argument, "verifier")
        require_module(
            "sentence_transformers", "The verifier 'cross-encoder'", "sentence-transformers"
        )

    @property
    def name(self) -> str:
        """Returns `cross-encoder:` and the model as it was named."""
        return f"cross-encoder:{self._argument}"

    def verify(self, pairs: Sequence[tuple[Memory, Memory]]) -> Sequence[Reply]:
        """Asks the model about each pair, both ways.

        Args:
            pairs: Any number.

        Returns:
            One reply for each pair; `NoOpinion` for texts the model would have to cut.

        Raises:
            VerifierError: The model cannot be loaded, fails, or is no NLI model.
        """
        texts = [(valid_unicode(a.content), valid_unicode(b.content)) for a, b in pairs]
        fits = [self._fits(a, b) and self._fits(b, a) for a, b in texts]
        asked = [pair for pair, fit in zip(texts, fits, strict=True) if fit]
        opinions = iter(self._opinions(asked) if asked else ())
        too_long = NoOpinion("the texts are longer than the model reads")
        return [next(opinions) if fit else too_long for fit in fits]

    def _fits(self, a: str, b: str) -> bool:
        """Checks whether the model reads both texts to their end, as it compares no more."""
        tokenizer = self._loaded.tokenizer
        tokens = tokenizer(a, b, truncation=False)["input_ids"]
        return len(tokens) <= int(tokenizer.model_max_length)

    def _opinions(self, texts: Sequence[tuple[str, str]]) -> list[Opinion]:

        labels = self._labels
        both_ways = [*texts, *((b, a) for a, b in texts)]
        try:
            rows = np.asarray(
                self._loaded.predict(
                    both_ways,
                    batch_size=_BATCH,
                    show_progress_bar=False,
                    apply_softmax=True,
                    convert_to_numpy=True,
                ),
                dtype=np.float64,
            )
        except (RuntimeError, ValueError) as problem:  # torch reports everything as RuntimeError
            raise VerifierError(
                f"The model {self._argument!r} failed on {len(texts)} pairs "
                f"({type(problem).__name__}: {problem})."
            ) from problem
        if rows.shape != (len(both_ways), labels.number) or not np.isfinite(rows).all():
            raise VerifierError(
                f"The model {self._argument!r} gave an array of shape {rows.shape}, or numbers "
                f"that are not finite, where {(len(both_ways), labels.number)} was expected."
            )
        there, back = rows[: len(texts)], rows[len(texts) :]
        return [_read(one, other, labels) for one, other in zip(there, back, strict=True)]

    @cached_property
    def _labels(self) -> _Labels:
        """Returns which column means what, from the model's own configuration: orders differ."""
        named: Mapping[Any, Any] = getattr(self._loaded.config, "id2label", None) or {}
        columns = {str(label).strip().lower(): int(at) for at, label in named.items()}
        if "entailment" not in columns or "contradiction" not in columns:
            raise VerifierError(
                f"The model {self._argument!r} is no NLI model: its labels are "
                f"{', '.join(map(str, named.values())) or 'unknown'}, not entailment, neutral and "
                "contradiction. Name one that is, such as cross-encoder/nli-deberta-v3-base."
            )
        return _Labels(columns["entailment"], columns["contradiction"], len(columns))

    @cached_property
    def _loaded(self) -> _Model:
        from sentence_transformers import CrossEncoder  # noqa: PLC0415

        try:
            model: _Model = CrossEncoder(self._argument)
        except (OSError, ValueError, KeyError, RuntimeError) as problem:
            raise VerifierError(
                f"The cross-encoder {self._argument!r} cannot be loaded "
                f"({type(problem).__name__}: {problem}). Name a folder that holds a saved model, "
                "or a model the hub knows while the network is there."
            ) from problem
        return model


def _read(there: NDArray[np.float64], back: NDArray[np.float64], labels: _Labels) -> Opinion:
    """Returns the opinion in the probabilities of a pair, both ways."""
    entails, entailed = float(there[labels.entailment]), float(back[labels.entailment])
    shown = f"entailment {entails:.2f} and {entailed:.2f}"
    if labels.contradiction in {int(there.argmax()), int(back.argmax())}:
        clash = max(float(there[labels.contradiction]), float(back[labels.contradiction]))
        return Opinion(Says.DIFFERENT, f"contradiction {clash:.2f}")
    match entails >= SURE, entailed >= SURE:
        case True, True:
            return Opinion(Says.SAME, shown)
        case True, False:
            return Opinion(Says.A_CONTAINS_B, shown)
        case False, True:
            return Opinion(Says.B_CONTAINS_A, shown)
        case _:
            return Opinion(Says.UNSURE, shown)
