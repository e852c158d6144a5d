"""A tool whose errors an agent can act on, and which takes no argument it does not know."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, Final

from mcp.server.context import LifespanContextT, RequestT
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, ToolAnnotations
from pydantic import ValidationError

from echoless.core.masking import MARKED, OUTPUT
from echoless.errors import EcholessError
from echoless.systems.llm_memory.answers import ToolError as Refusal

__all__ = ["Context", "MemoryTool", "made"]


_MASKED: Final = {
    "type": "integer",
    "description": "Secrets masked in this answer; missing if none. A server started with "
    "--show-secrets shows them.",
}


class MemoryTool(Tool):
    """A tool of this server."""

    async def run(
        self,
        arguments: dict[str, Any],
        context: Context[LifespanContextT, RequestT],
        convert_result: bool = False,
    ) -> Any:
        """Run it; every failure but a crash is a sentence that says what to do.

        Raises:
            ToolError: The arguments do not fit, or the library refused.
            UnexpectedToolError: A crash; its text stays in the log of the server.
        """
        known = self.parameters["properties"]
        unknown = sorted(arguments.keys() - known.keys())
        if unknown:
            raise ToolError(
                f"{self.name} has no parameter {unknown[0]!r}; nothing was done. "
                f"It has: {', '.join(known)}."
            )
        hints = self.annotations
        if not (hints and hints.read_only_hint) and MARKED.search(json.dumps(arguments)):
            raise ToolError(_HAS_MARK)
        try:
            answer = await super().run(arguments, context, convert_result=False)
        except ToolError as problem:
            raise _masked(_plain(self.name, problem)) from problem.__cause__
        OUTPUT.learn(each for each in arguments.values() if isinstance(each, str))
        OUTPUT.begin(shown=OUTPUT.shown)
        shown = OUTPUT.json(answer)
        count = OUTPUT.count
        if not convert_result:
            return shown
        if count and isinstance(shown, dict):
            shown["masked"] = count
        told = self.fn_metadata.convert_result(shown)
        if count and isinstance(told, CallToolResult) and told.structured_content is not None:
            told.structured_content["masked"] = count
        return told


_HAS_MARK: Final = (
    "The text has a mark such as [secret 1] in it, which stands for a secret that this server does "
    "not show. Nothing was stored, as the secret would be lost. Leave that part out; or ask the "
    "person to start the server with --show-secrets, and use the text itself."
)


def _masked(problem: ToolError) -> ToolError:
    return type(problem)(OUTPUT.reason(str(problem)))


def _plain(name: str, problem: ToolError) -> ToolError:
    match problem.__cause__:
        case EcholessError() | ToolError() as cause:
            return ToolError(str(cause))
        case Refusal(details=details) as cause:
            return ToolError(f"{cause} {details}".strip())
        case ValidationError() as cause:
            return ToolError(_does_not_fit(name, cause))
        case _:
            return UnexpectedToolError(
                f"{name} failed in a way that was not foreseen; the log of the server says more. "
                "Look at memory_history before you try again."
            )


def _does_not_fit(name: str, problem: ValidationError) -> str:
    """What is wrong with the arguments, without the library that found it."""
    told = [
        f"{'.'.join(str(part) for part in each['loc'])}: {each['msg'][:1].lower()}{each['msg'][1:]}"
        for each in problem.errors(include_url=False, include_input=False)
    ]
    return f"The arguments of {name} do not fit, so nothing was done. {'; '.join(told)}."


def made(
    function: Callable[..., Awaitable[object]],
    title: str,
    *,
    reads: bool,
    destroys: bool = False,
    repeats: bool = False,
    open_world: bool = False,
) -> MemoryTool:
    """A tool from a method; its docstring is the description.

    Args:
        function: The method, with a typed answer.
        title: For people.
        reads: It changes nothing.
        destroys: It may change or hide what is there, rather than only add.
        repeats: Calling it again with the same arguments changes nothing more.
        open_world: It may hand texts to a server elsewhere.
    """
    tool = MemoryTool.from_function(
        function,
        title=title,
        description=" ".join((function.__doc__ or "").split()),
        annotations=ToolAnnotations(
            title=title,
            read_only_hint=reads,
            destructive_hint=destroys and not reads,
            idempotent_hint=reads or repeats,
            open_world_hint=open_world,
        ),
        structured_output=True,
    )
    assert isinstance(tool, MemoryTool)
    tool.parameters["additionalProperties"] = False
    if tool.output_schema is not None:
        tool.output_schema.setdefault("properties", {})["masked"] = dict(_MASKED)
    return tool
