"""Translation of HTTP statuses of model servers into errors that say whether to ask again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from echoless.core.errors import ModelError, ModelUnavailable
from echoless.core.requests import redirected
from echoless.models.llm.base import Passing
from echoless.models.llm.retry_delay import asked_to_wait

OTHER_SHAPE: Final = frozenset({400, 422, 501})
"""Of a server that may not know a schema, or another part of what was asked."""

_SECRET: Final = 12
"""Characters from which a key is one; servers without keys are given any word."""

_HOPELESS: Final = frozenset({401, 403, 404})
_PASSING: Final = frozenset({408, 409, 429})


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

    def refused(
        self, status: int, reason: str, headers: Mapping[str, str], requests: int = 1
    ) -> ModelError:
        """Returns the error for a status.

        Args:
            status: From 300.
            reason: What the server said, without the key.
            headers: Of its answer.
            requests: Sent to come that far.
        """
        if 300 <= status < 400:
            return ModelUnavailable(redirected(self.server), requests=requests)
        retry = headers.get("x-should-retry", "")
        what = f"{self.server} refused model {self.model!r} with status {status}: {reason}"
        if status in _HOPELESS:
            advice = {401: f"Check {self.key}.", 403: f"Check {self.key}, and what it may do."}
            text = f"{what}. {advice.get(status, self.missing)}"
            return ModelUnavailable(text, requests=requests)
        passing = status in _PASSING or status >= 500
        if retry == "true" or (passing and retry != "false"):
            advice_ = "Wait, or check the quota." if status == 429 else "Try again."
            return Passing(what, advice_, wait=asked_to_wait(headers), requests=requests)
        return ModelError(f"{what}. Try again, or ask another model.", requests=requests)

    def silent(self, *, timed_out: bool, requests: int = 1) -> Passing:
        """Returns the error for a server that did not answer."""
        if timed_out:
            what = f"{self.server} (model {self.model!r}) did not answer in time"
            return Passing(what, "Try again, or a quicker model.", requests=requests)
        return Passing(
            f"{self.server} (model {self.model!r}) cannot be reached",
            "Check the address and that the server runs, or leave the model out.",
            unavailable=True,
            requests=requests,
        )

    def unreadable(self, problem: Exception, requests: int = 1) -> ModelError:
        """Returns the error for an answer that is no JSON."""
        return ModelError(
            f"{self.server} (model {self.model!r}) answered with something that is no JSON "
            f"({type(problem).__name__}). Try again, or check the address.",
            requests=requests,
        )


def without_secret(text: str, key: str) -> str:
    """Returns an answer without the key, because answers are stored in ledgers."""
    return text.replace(key, "[key]") if len(key) >= _SECRET else text


def whole(value: object) -> int | None:
    """Returns a count of tokens if it is one; some servers leave it out."""
    return value if isinstance(value, int) and value >= 0 else None
