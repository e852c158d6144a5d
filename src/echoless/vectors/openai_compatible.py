"""Any server that speaks OpenAI's `/embeddings`: OpenAI itself, Ollama, vLLM, LM Studio and others.

The official SDK does the talking, with its retries (connection errors, 408, 409, 429, 5xx, and
Retry-After honoured). The key comes from OPENAI_API_KEY only, goes to the server named and nowhere
else, and never into a message: texts of errors are searched for it first.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from echoless.errors import EncoderError, UsageError
from echoless.vectors.optional import require_argument, require_module

if TYPE_CHECKING:
    import numpy as np
    import openai
    from numpy.typing import NDArray
    from openai.types import CreateEmbeddingResponse

KEY: Final = "OPENAI_API_KEY"
BASE_URL: Final = "OPENAI_BASE_URL"
OFFICIAL: Final = "https://api.openai.com/v1"

BATCH: Final = 128
"""Texts in a request. The API takes 2,048 inputs and 300,000 tokens; parts are about 60 tokens."""

TIMEOUT: Final = 60.0
"""Seconds for a request; the SDK's own 600 is no answer for someone who waits."""

RETRIES: Final = 4
_MESSAGE: Final = 200


class OpenAIEncoder:
    """Vectors from an OpenAI-compatible server; nothing is sent before the first `encode`."""

    def __init__(
        self, argument: str, *, retries: int = RETRIES, timeout: float = TIMEOUT, batch: int = BATCH
    ) -> None:
        """Read the argument and the environment.

        Args:
            argument: `MODEL` or `MODEL@BASE_URL`. Without one, OPENAI_BASE_URL, then OpenAI.
            retries: How often the SDK tries again.
            timeout: Seconds for one request.
            batch: Texts in one request.

        Raises:
            UsageError: No model, a base URL that is none, or no key for OpenAI's own server.
            MissingExtra: The SDK is not installed.
        """
        require_module("openai", "The encoder 'openai'", "openai")
        name, _, url = require_argument("openai", argument).partition("@")
        self._name = require_argument("openai", name)
        self._url = (url or os.environ.get(BASE_URL, "") or OFFICIAL).strip().rstrip("/")
        self._retries, self._timeout, self._batch = retries, timeout, batch
        _check_url(self._url)
        self._key = os.environ.get(KEY, "").strip()
        if not self._key and self._url == OFFICIAL:
            raise UsageError(
                f"The encoder 'openai' needs a key: set {KEY}, or name a server that needs none as "
                "openai:MODEL@BASE_URL."
            )

    @cached_property
    def model(self) -> str:
        """The model; with `@host/path` of the server unless that is OpenAI's own.

        Two servers may give one name to two models, so the server is part of the identity. User
        names and passwords in the URL are not.
        """
        if self._url == OFFICIAL:
            return self._name
        parts = urlsplit(self._url)
        return f"{self._name}@{parts.netloc.rpartition('@')[2]}{parts.path}"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode over the network.

        Args:
            texts: Any number of texts, none blank.

        Returns:
            Shape (len(texts), dimensions), float32; (0, 0) for no texts.

        Raises:
            EncoderError: The server cannot be reached, refuses, or answers something else than one
                finite vector of one length for each text.
        """
        import numpy as np  # noqa: PLC0415

        if not texts:
            return np.empty((0, 0), dtype=np.float32)
        with self._client() as client:
            blocks = [
                self._request(client, texts[start : start + self._batch])
                for start in range(0, len(texts), self._batch)
            ]
        if len({block.shape[1] for block in blocks}) > 1:
            raise self._broken("vectors of different lengths in one run")
        return np.concatenate(blocks)

    def _client(self) -> openai.OpenAI:
        import openai  # noqa: PLC0415

        return openai.OpenAI(
            api_key=self._key or "none",  # the SDK insists on one; servers without keys ignore it
            base_url=self._url,
            timeout=self._timeout,
            max_retries=self._retries,
        )

    def _request(self, client: openai.OpenAI, texts: Sequence[str]) -> NDArray[np.float32]:
        import openai  # noqa: PLC0415

        try:
            # "float": not every server knows the SDK's own default, base64
            answer = client.embeddings.create(
                model=self._name, input=list(texts), encoding_format="float"
            )
        except openai.APIStatusError as problem:
            raise self._refused(problem) from None  # the SDK's error carries the request's headers
        except openai.APIConnectionError as problem:
            reason = "did not answer in time" if _timed_out(problem) else "cannot be reached"
            raise EncoderError(
                f"The embedding server {self._where} {reason} (model {self._name!r}, "
                f"{self._retries + 1} tries). Check the address and that the server runs; what was "
                "encoded so far is cached."
            ) from None
        except (openai.OpenAIError, ValueError) as problem:
            raise self._broken(f"no JSON ({type(problem).__name__})") from None
        return self._rows(answer, len(texts))

    def _rows(self, answer: CreateEmbeddingResponse, expected: int) -> NDArray[np.float32]:
        import numpy as np  # noqa: PLC0415

        data = getattr(answer, "data", None)
        if not isinstance(data, list):
            raise self._broken("no list of embeddings")
        if len(data) != expected:
            raise self._broken(f"{len(data)} vectors for {expected} texts")
        try:
            placed = sorted((int(each.index), each.embedding) for each in data)
            with np.errstate(over="ignore"):  # too large for 32 bits becomes infinite, seen below
                rows = np.array([vector for _, vector in placed], dtype=np.float32)
        except (AttributeError, TypeError, ValueError):
            raise self._broken("embeddings that are no lists of numbers of one length") from None
        if [index for index, _ in placed] != list(range(expected)):
            raise self._broken("embeddings whose indexes do not match the texts")
        if rows.ndim != 2 or rows.shape[1] == 0:
            raise self._broken("empty embeddings")
        if not np.isfinite(rows).all():
            raise self._broken("numbers that are not finite")
        return rows

    @property
    def _where(self) -> str:
        parts = urlsplit(self._url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def _broken(self, what: str) -> EncoderError:
        return EncoderError(
            f"The embedding server {self._where} answered with {what} (model {self._name!r}). "
            "Check that the base URL ends where /embeddings begins (often /v1) and that the model "
            "is an embedding model."
        )

    def _refused(self, problem: openai.APIStatusError) -> EncoderError:
        said = " ".join(problem.message.split())
        if self._key:
            said = said.replace(self._key, "[key]")
        advice = {
            401: f"Check {KEY}.",
            403: f"Check what {KEY} may do.",
            404: "Check the model's name and that the base URL ends where /embeddings begins.",
            429: "Wait, or check the quota; what was encoded so far is cached.",
        }.get(problem.status_code, "What was encoded so far is cached; run again.")
        return EncoderError(
            f"The embedding server {self._where} refused model {self._name!r} with status "
            f"{problem.status_code}: {said[:_MESSAGE]}. {advice}"
        )


def _timed_out(problem: Exception) -> bool:
    import openai  # noqa: PLC0415

    return isinstance(problem, openai.APITimeoutError)


def _check_url(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError(
            "The base URL of the encoder 'openai' must begin with http:// or https:// and name a "
            "host, as in openai:MODEL@http://localhost:11434/v1."
        )
