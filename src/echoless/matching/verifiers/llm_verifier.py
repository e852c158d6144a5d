"""A verifier over any language model: one pair a question, one JSON object as the answer.

The texts are sent as data behind a fence, and the model is told that nothing in them is an
instruction; a memory that talks it into "same" still meets the judge's vetoes, the preview and
undo.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Event
from typing import Final

from echoless.core.choices import Limits
from echoless.core.errors import ModelError, ModelUnavailable, VerifierError
from echoless.core.model import Json, Memory
from echoless.matching.verifiers.consultation import NoOpinion, Opinion, Reply, Says
from echoless.models.llm import Prompt
from echoless.models.llm.anthropic import AnthropicModel
from echoless.models.llm.counted_model import CountedModel, Spent, asked_in_order
from echoless.models.llm.openai import OpenAIModel
from echoless.models.llm.prompt_text import fenced, objects_with, wording

_WORDS: Final[Mapping[str, Says]] = {
    "same": Says.SAME,
    "first_contains_second": Says.A_CONTAINS_B,
    "second_contains_first": Says.B_CONTAINS_A,
    "different": Says.DIFFERENT,
    "unsure": Says.UNSURE,
}
SCHEMA: Final[dict[str, Json]] = {
    "type": "object",
    "properties": {
        "reason": {"type": "string"},
        "opinion": {"type": "string", "enum": list(_WORDS)},
    },
    "required": ["reason", "opinion"],
    "additionalProperties": False,
}


class ModelVerifier:
    """Opinions of a language model; nothing is sent before the first `verify`."""

    def __init__(self, model: CountedModel, *, locale: str = "en") -> None:
        """Keeps the model.

        Args:
            model: Whom to ask.
            locale: Language of the prompt: `de`, `en` or `ja`.
        """
        self._model = model
        self._words = wording("opinion", locale)

    @property
    def name(self) -> str:
        """Returns the model's."""
        return self._model.name

    @property
    def spent(self) -> Spent:
        """Returns the questions and tokens so far."""
        return self._model.spent

    @property
    def workers(self) -> int:
        """Questions on their way at a time."""
        return self._model.limits.workers

    @property
    def prompt(self) -> str:
        """Returns the version of the prompt: `opinion/LOCALE@` and a digest."""
        return self._words.version

    def within(self, limits: Limits, locale: str) -> ModelVerifier:
        """Returns the same verifier with other limits and language, and a total of its own."""
        return ModelVerifier(self._model.within(limits), locale=locale)

    def verify(self, pairs: Sequence[tuple[Memory, Memory]]) -> Sequence[Reply]:
        """Asks about each pair, several at a time.

        Args:
            pairs: Any number.

        Returns:
            One reply for each pair, in order. A model that fails a question in spite of retries, or
            answers something else than asked for, gives a `NoOpinion`.

        Raises:
            VerifierError: The model can answer nothing, and has answered nothing of these.
        """
        gone = Event()
        heard = asked_in_order(lambda pair: self._about(pair, gone), pairs, self.workers)
        lost = next((each for each in heard if isinstance(each, ModelUnavailable)), None)
        if lost is None:
            return [each for each in heard if not isinstance(each, ModelUnavailable | None)]
        if not any(isinstance(each, Opinion | NoOpinion) for each in heard):
            raise VerifierError(str(lost)) from None
        none = NoOpinion(str(lost))  # what was answered before it is kept
        return [none if isinstance(e, ModelUnavailable) or e is None else e for e in heard]

    def _about(self, pair: tuple[Memory, Memory], gone: Event) -> Reply | ModelUnavailable | None:
        """Returns the reply; None if another question found that the model can answer nothing."""
        if gone.is_set():
            return None
        a, b = pair
        data = fenced({"first": a.content, "second": b.content})
        try:
            answer = self._model.answer(
                Prompt(instruction=self._words.text, data=data, schema=SCHEMA)
            )
        except ModelUnavailable as problem:
            gone.set()
            return problem
        except ModelError as problem:
            return NoOpinion(str(problem))
        return read_opinion(answer.text)


def openai_verifier(argument: str) -> ModelVerifier:
    """Returns a verifier over any server that speaks OpenAI's `/chat/completions`.

    Args:
        argument: `MODEL` or `MODEL@BASE_URL`.

    Raises:
        UsageError: No model, a base URL that is none, or no key for OpenAI's own server.
        MissingExtra: The SDK is not installed.
    """
    return ModelVerifier(CountedModel(OpenAIModel(argument, kind="verifier"), Limits(workers=1)))


def anthropic_verifier(argument: str) -> ModelVerifier:
    """Returns a verifier over Anthropic's Messages API.

    Args:
        argument: `MODEL` or `MODEL@BASE_URL`; a small model if empty.

    Raises:
        UsageError: There is no key, or a base URL that is none.
        MissingExtra: The SDK is not installed.
    """
    model = AnthropicModel(argument, kind="verifier")
    return ModelVerifier(CountedModel(model, Limits(workers=1)))


def read_opinion(text: str) -> Reply:
    """Returns the opinion in a reply of a model: its last JSON object with an `opinion`.

    Two objects with different opinions are no answer.
    """
    objects = objects_with(text, "opinion")
    said = {str(data["opinion"]).strip().lower() for data in objects}
    if len(said) != 1:
        return NoOpinion("the model did not answer with one JSON object that holds an opinion")
    (word,) = said
    if word not in _WORDS:
        return NoOpinion(f"the model answered with the unknown opinion {word[:40]!r}")
    reason = objects[-1].get("reason")
    return Opinion(_WORDS[word], reason if isinstance(reason, str) else "")
