"""Language models behind HTTP servers: how one is asked, and what its errors mean.

Texts of errors and answers are searched for the key before anyone sees them. Retries are made by
the SDKs.
"""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, ClassVar, Final, Generic, Protocol, TypeAlias, TypeVar

from echoless.core.errors import ModelError, ModelUnavailable
from echoless.models.llm import Answer, Prompt
from echoless.models.server import ProviderServer, redirected

if TYPE_CHECKING:
    import anthropic
    import openai

    StatusError: TypeAlias = openai.APIStatusError | anthropic.APIStatusError

OTHER_SHAPE: Final = frozenset({400, 422, 501})
"""Of a server that may not know a schema, or another part of what was asked."""

_SECRET: Final = 12
"""Minimum length of an API key; shorter values are placeholders."""

_HOPELESS: Final = frozenset({401, 403, 404})


class Closable(Protocol):
    """A client of an SDK."""

    def close(self) -> None:
        """Closes its connections."""


Client = TypeVar("Client", bound=Closable)


class ServerModel(ABC, Generic[Client]):
    """One model of one server; the client is opened for the first prompt and then kept.

    Attributes:
        called: What the server is called in messages, as a subject.
        missing: What to check if the model is not found.
        shapes: How an object is asked for; the first shape the server accepts wins.
        plain_shapes: How many of the last shapes ask for plain text.
        error: What the SDK calls the base class of its errors.
        server: Its address, model and key.
    """

    called: ClassVar[str]
    missing: ClassVar[str]
    shapes: ClassVar[tuple[str, ...]]
    plain_shapes: ClassVar[int]
    error: ClassVar[str]

    def __init__(self, server: ProviderServer, open_client: Callable[[], Client]) -> None:
        """Keeps the server; nothing is sent yet.

        Args:
            server: Whom to ask.
            open_client: Opens a client of the SDK and says where texts go.
        """
        self.server = server
        self._open_client = open_client
        self._shapes = self.shapes
        self._lock = Lock()
        self._made: Client | None = None
        self._subject = Subject(
            f"{self.called} {server.where}", server.model, server.key_advice, self.missing
        )

    @property
    def name(self) -> str:
        """Returns provider and model; with the server unless that is the provider's own."""
        return f"{self.server.provider.name}:{self.server.identity}"

    @property
    def client(self) -> Client:
        """Returns the client of the SDK, which is closed with this object."""
        with self._lock:
            if self._made is None:
                self._made = self._open_client()
                weakref.finalize(self, self._made.close)
            return self._made

    @abstractmethod
    def ask(self, shape: str, prompt: Prompt) -> Answer:
        """Sends one request and reads the answer; errors are those of the SDK."""

    def message(self, problem: StatusError) -> object:
        """Returns the server's message about an error."""
        return problem.message

    def answer(self, prompt: Prompt) -> Answer:
        """Returns the answer to a prompt, requested in the best form the server accepts.

        Raises:
            ModelUnavailable: The server cannot be reached, or refuses the key or the model.
            ModelError: The server refuses this prompt, stays busy or silent, or answers with
                something else than JSON.
        """
        # the SDKs of OpenAI and Anthropic come from one generator: their errors have the same names
        sdk, with_schema = import_module(self.server.provider.name), prompt.schema is not None
        shapes = self._shapes if with_schema else self._shapes[-self.plain_shapes :]
        for place, shape in enumerate(shapes):
            try:
                answer = self.ask(shape, prompt)
            except sdk.APIStatusError as problem:
                if problem.status_code in OTHER_SHAPE and shape != shapes[-1]:
                    continue
                reason = self.server.shortened(self.message(problem))
                # without the cause: the SDK's error carries the request's headers
                raise self._subject.refused(problem.status_code, reason) from None
            except sdk.APIConnectionError as problem:
                timed_out = isinstance(problem, sdk.APITimeoutError)
                raise self._subject.silent(timed_out=timed_out) from None
            except (getattr(sdk, self.error), ValueError) as problem:
                raise self._subject.unreadable(problem) from None
            if with_schema:  # a plain prompt does not tell whether schemas are known
                self._shapes = shapes[place:]
            return answer
        raise AssertionError("the last shape returns or raises")


@dataclass(frozen=True, slots=True)
class Subject:
    """The server and model that a message is about.

    Attributes:
        server: As a subject: `The chat server http://localhost:11434/v1`.
        model: Its name.
        key: What to check if the key is refused: the variable that holds it, or why none was sent.
        missing: What to check if the model is not found.
    """

    server: str
    model: str
    key: str
    missing: str

    def refused(self, status: int, reason: str) -> ModelError:
        """Returns the error for a status.

        Args:
            status: From 300.
            reason: What the server said, without the key.
        """
        if 300 <= status < 400:
            return ModelUnavailable(redirected(self.server))
        what = f"{self.server} refused model {self.model!r} with status {status}: {reason}"
        if status in _HOPELESS:
            advice = {401: f"Check {self.key}.", 403: f"Check {self.key}, and what it may do."}
            return ModelUnavailable(f"{what}. {advice.get(status, self.missing)}")
        if status == 429:
            return ModelError(f"{what}. Wait, or check the quota.")
        return ModelError(f"{what}. Try again, or ask another model.")

    def silent(self, *, timed_out: bool) -> ModelError:
        """Returns the error for a server that did not answer."""
        server = f"{self.server} (model {self.model!r})"
        if timed_out:
            return ModelError(f"{server} did not answer in time. Try again, or a quicker model.")
        return ModelUnavailable(
            f"{server} cannot be reached. Check the address and that the server runs, or leave the "
            "model out."
        )

    def unreadable(self, problem: Exception) -> ModelError:
        """Returns the error for an answer that is no JSON."""
        return ModelError(
            f"{self.server} (model {self.model!r}) answered with something that is no JSON "
            f"({type(problem).__name__}). Try again, or check the address."
        )


def without_secret(text: str, key: str) -> str:
    """Returns an answer without the key, because answers are stored in ledgers."""
    return text.replace(key, "[key]") if len(key) >= _SECRET else text


def whole(value: object) -> int | None:
    """Returns a count of tokens, or None if it is missing or no count."""
    return value if isinstance(value, int) and value >= 0 else None
