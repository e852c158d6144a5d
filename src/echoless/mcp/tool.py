"""Tool whose errors an agent can act on, and which refuses arguments it does not know."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from mcp.server.context import LifespanContextT, RequestT
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, ToolAnnotations
from pydantic import ValidationError

from echoless.core.answer_schemas import named_parts, required_keys
from echoless.core.errors import EcholessError
from echoless.core.masking import MARKED, OUTPUT
from echoless.workflows.owner_tools import OwnerRefusal

__all__ = ["Context", "MemoryTool", "make_tool"]


class MemoryTool(Tool):
    """A tool of this server."""

    async def run(
        self,
        arguments: dict[str, Any],
        context: Context[LifespanContextT, RequestT],
        convert_result: bool = False,
    ) -> Any:
        """Runs the tool; every failure but a crash is a sentence that says what to do.

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
            error = _plain(self.name, problem)
            raise type(error)(OUTPUT.reason(str(error))) from problem.__cause__
        OUTPUT.learn(each for each in arguments.values() if isinstance(each, str))
        OUTPUT.begin(shown=OUTPUT.shown)
        shown = OUTPUT.json(named_parts(self.name, answer))
        assert isinstance(shown, dict), "it was one before"
        if not convert_result:
            return shown
        if OUTPUT.count:
            shown["masked"] = OUTPUT.count
        result = self.fn_metadata.convert_result(shown)
        assert isinstance(result, CallToolResult)
        result.structured_content = shown
        return result


_HAS_MARK: Final = (
    "The text has a mark such as [secret 1] in it, which stands for a secret that this server does "
    "not show. Nothing was stored, as the secret would be lost. Leave that part out; or ask the "
    "person to start the server with --show-secrets, and use the text itself."
)


def _plain(name: str, problem: ToolError) -> ToolError:
    """Returns the error an agent reads: the reason of its cause, or that the tool crashed."""
    match problem.__cause__:
        case EcholessError() | ToolError() as cause:
            return ToolError(str(cause))
        case OwnerRefusal(details=details) as cause:
            return ToolError(f"{cause} {details}".strip())
        case ValidationError() as cause:
            reasons = [
                f"{'.'.join(str(part) for part in each['loc'])}: "
                f"{each['msg'][:1].lower()}{each['msg'][1:]}"
                for each in cause.errors(include_url=False, include_input=False)
            ]
            return ToolError(
                f"The arguments of {name} do not fit, so nothing was done. {'; '.join(reasons)}."
            )
        case _:
            return UnexpectedToolError(
                f"{name} failed in a way that was not foreseen; the log of the server says more. "
                "Look at memory_history before you try again."
            )


def make_tool(
    function: Callable[..., Awaitable[object]],
    title: str,
    *,
    reads: bool,
    destroys: bool = False,
    repeats: bool = False,
    open_world: bool = False,
) -> MemoryTool:
    """Makes a tool from a method; its docstring describes the tool and each parameter.

    Args:
        function: The method, whose answer has a schema of the name of the tool.
        title: For people.
        reads: It changes nothing.
        destroys: It may change or hide what is there, rather than only add.
        repeats: Calling it again with the same arguments changes nothing more.
        open_world: It may hand texts to a server elsewhere.
    """
    described, _, listed = inspect.cleandoc(function.__doc__ or "").partition("\n\nArgs:\n")
    texts = {name: " ".join(text.split()) for name, text in _ARGUMENT.findall(listed)}
    tool = MemoryTool.from_function(
        function,
        description=" ".join(described.split()),
        title=title,
        # what is as the protocol takes it anyway is left out: the list costs an agent its context
        annotations=ToolAnnotations(read_only_hint=True, open_world_hint=open_world)
        if reads
        else ToolAnnotations(
            destructive_hint=destroys, idempotent_hint=repeats or None, open_world_hint=open_world
        ),
        structured_output=False,  # of our own: `answer_schemas` says what an answer holds
    )
    assert isinstance(tool, MemoryTool)
    shown = tool.parameters["properties"]
    shown.update({name: {**_short(shown[name]), "description": texts[name]} for name in shown})
    tool.parameters["additionalProperties"] = False
    del tool.parameters["title"]
    tool.output_schema = {"type": "object", "required": required_keys(tool.name)[:_NAMED]}
    return tool


_NAMED: Final = 3
"""Keys of an answer that the list names; `echoless schema NAME` prints the whole schema."""

_ARGUMENT: Final = re.compile(r"^    (\w+): (.+(?:\n {8}.+)*)", re.MULTILINE)
"""An argument in a docstring, with what is said of it."""


def _short(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the schema of a parameter without what an agent does not need to call the tool.

    That are titles, null for what may be left out (it is taken all the same), and defaults that
    say no or nothing.
    """
    kind, *_ = (each for each in schema.get("anyOf", ({},)) if each.get("type") != "null")
    left_out = {"anyOf", "title"} | ({"default"} if not schema.get("default") else set())
    return {name: value for name, value in {**schema, **kind}.items() if name not in left_out}
