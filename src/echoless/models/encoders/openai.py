"""Encoder for servers with OpenAI's `/embeddings`: OpenAI, Ollama, vLLM, LM Studio and others.

Address, key and client are those of `models/server.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from echoless.core.batches import batched
from echoless.core.choices import TIMEOUT
from echoless.core.errors import EncoderError
from echoless.core.masking import without_secrets
from echoless.models.server import RETRIES, OpenAIServer, redirected

if TYPE_CHECKING:
    import numpy as np
    import openai
    from numpy.typing import NDArray
    from openai.types import CreateEmbeddingResponse

BATCH: Final = 128
"""Texts in a request. The API takes 2,048 inputs and 300,000 tokens; parts are about 60 tokens."""


class OpenAIEncoder:
    """Vectors from an OpenAI-compatible server; nothing is sent before the first `encode`."""

    def __init__(
        self,
        argument: str,
        *,
        retries: int = RETRIES,
        timeout: float = TIMEOUT,
        batch: int = BATCH,
        key: str = "",
    ) -> None:
        """Reads the argument and the environment.

        Args:
            argument: `MODEL` or `MODEL@BASE_URL`. Without one, OPENAI_BASE_URL, then OpenAI.
            retries: How often the SDK tries again.
            timeout: Seconds for one request.
            batch: Texts in one request.
            key: Instead of OPENAI_API_KEY.

        Raises:
            UsageError: No model, a base URL that is none, or no key for OpenAI's own server.
            MissingExtra: The SDK is not installed.
        """
        self._server = OpenAIServer(
            argument, kind="encoder", retries=retries, timeout=timeout, key=key
        )
        self._name = self._server.model
        self._batch = batch

    @property
    def model(self) -> str:
        """Returns the model; with `@host/path` of the server unless that is OpenAI's own."""
        return self._server.identity

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Returns one vector for each text, made by the server.

        Args:
            texts: Any number of texts, none blank.

        Returns:
            Shape (len(texts), dimensions), float32; (0, 0) for no texts.

        Raises:
            EncoderError: The server cannot be reached, refuses, or answers something else than one
                finite vector of one length for each text.
        """
        import numpy as np

        if not texts:
            return np.empty((0, 0), dtype=np.float32)
        with self._server.client() as client:
            blocks = [self._request(client, some) for some in batched(texts, self._batch)]
        if len({block.shape[1] for block in blocks}) > 1:
            raise self._broken("vectors of different lengths in one run")
        return np.concatenate(blocks)

    def _request(self, client: openai.OpenAI, texts: Sequence[str]) -> NDArray[np.float32]:

        sent = [without_secrets(text) for text in texts]
        import openai

        try:
            # "float": not every server knows the SDK's own default, base64
            answer = client.embeddings.create(model=self._name, input=sent, encoding_format="float")
        except openai.APIStatusError as problem:
            raise self._refused(problem) from None  # the SDK's error carries the request's headers
        except openai.APIConnectionError as problem:
            timed_out = isinstance(problem, openai.APITimeoutError)
            what = "did not answer in time" if timed_out else "cannot be reached"
            raise EncoderError(
                f"The embedding server {self._server.where} {what} (model {self._name!r}, "
                f"{self._server.tries} tries). Check the address and that the server runs; what "
                "was encoded so far is cached."
            ) from None
        except (openai.OpenAIError, ValueError) as problem:
            raise self._broken(f"no JSON ({type(problem).__name__})") from None
        return self._rows(answer, len(texts))

    def _rows(self, answer: CreateEmbeddingResponse, expected: int) -> NDArray[np.float32]:
        """Returns the vectors of an answer as rows, in the order of the texts."""
        data = getattr(answer, "data", None)
        if not isinstance(data, list):
            raise self._broken("no list of embeddings")
        if len(data) != expected:
            raise self._broken(f"{len(data)} vectors for {expected} texts")
        import numpy as np

        try:
            placed = sorted((int(each.index), each.embedding) for each in data)
            with np.errstate(over="ignore"):  # too large for 32 bits becomes infinite, seen below
                rows = np.array([vector for _, vector in placed], dtype=np.float32)
        except (AttributeError, TypeError, ValueError, OverflowError):
            raise self._broken("embeddings that are no lists of numbers of one length") from None
        if [index for index, _ in placed] != list(range(expected)):
            raise self._broken("embeddings whose indexes do not match the texts")
        if rows.ndim != 2 or rows.shape[1] == 0:
            raise self._broken("empty embeddings")
        if not np.isfinite(rows).all():
            raise self._broken("numbers that are not finite")
        return rows

    def _broken(self, what: str) -> EncoderError:
        return EncoderError(
            f"The embedding server {self._server.where} answered with {what} (model "
            f"{self._name!r}). Check that the base URL ends where /embeddings begins (often /v1) "
            "and that the model is an embedding model."
        )

    def _refused(self, problem: openai.APIStatusError) -> EncoderError:
        if 300 <= problem.status_code < 400:
            return EncoderError(redirected(f"The embedding server {self._server.where}"))
        advice = {
            401: f"Check {self._server.key_advice}.",
            403: f"Check {self._server.key_advice}, and what it may do.",
            404: "Check the model's name and that the base URL ends where /embeddings begins.",
            429: "Wait, or check the quota; what was encoded so far is cached.",
        }.get(problem.status_code, "What was encoded so far is cached; run again.")
        return EncoderError(
            f"The embedding server {self._server.where} refused model {self._name!r} with status "
            f"{problem.status_code}: {self._server.shortened(problem.message)}. {advice}"
        )
