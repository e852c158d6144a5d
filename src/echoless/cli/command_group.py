"""A group of commands that loads each when it is called and turns errors into exit codes."""

from __future__ import annotations

import errno
import importlib
import io
import os
import shlex
import sys
import traceback
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final, NoReturn

import click

from echoless.cli.options import CommandState
from echoless.cli.progress import logging_to_stderr
from echoless.core import plugins
from echoless.core.destination import without_password
from echoless.core.errors import INTERRUPTED, EcholessError, UsageError
from echoless.core.failures import DISK, of_system
from echoless.core.masking import OPTION, OUTPUT, VARIABLE, notice
from echoless.core.text import on_one_line, visible

Families = Mapping[str, Mapping[str, tuple[str, str]]]
"""Module and short help of each command, by the title of its family."""

SAYS_NO_TEXT: Final = frozenset({"stores", "encoders", "profiles", "schema", "demo"})
"""Commands that print nothing of a memory."""


class LazyGroup(click.Group):
    """A group that imports a command at its first use, so that `--help` is quick.

    The attribute of a command is `NAME_command` in its module, `-` written as `_`.
    """

    families: ClassVar[Families] = {}

    @cached_property
    def all_families(self) -> Families:
        """The commands of this package, then those of others by the entry points `commands`."""
        others = [plugins.load("commands", name) for name in plugins.names("commands")]
        return {**self.families, **{k: v for each in others for k, v in _families(each).items()}}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Returns the names of all commands, in the order of the families."""
        return [name for family in self.all_families.values() for name in family]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Returns the command that was named; of an unknown one the error names one like it.

        Raises:
            click.UsageError: There is none of that name.
        """
        name = args[0]
        own = any(name in family for family in self.families.values())
        if own or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        known = self.list_commands(ctx)
        if name in known:
            return super().resolve_command(ctx, args)
        import difflib

        alike = difflib.get_close_matches(name, known, 1)
        if f"--{name}" in {option for each in self.get_params(ctx) for option in each.opts}:
            alike = [f"--{name}"]
        hint = "".join(f" Did you mean {each!r}?" for each in alike)
        raise click.UsageError(f"No such command {name!r}.{hint}", ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Returns a command, imported now; None if there is none of that name."""
        own = any(cmd_name in family for family in self.families.values())
        families = self.families if own else self.all_families  # entry points take time to read
        for family in families.values():
            if cmd_name in family:
                return _loaded(cmd_name, *family[cmd_name])
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Writes the list of commands by family, without importing any."""
        for title, family in self.all_families.items():
            with formatter.section(title):
                formatter.write_dl([(name, short) for name, (_, short) in family.items()])

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Runs the command, and ends the process unless `standalone_mode` is false.

        Every error raised on purpose becomes one line on standard error and its exit code.
        """
        for stream in (sys.stdout, sys.stderr):
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None:  # a sign the terminal cannot show becomes an escape
                reconfigure(errors="backslashreplace")
        OUTPUT.begin()
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        state = CommandState(typed=tuple(sys.argv[1:] if args is None else args))
        extra.setdefault("obj", state)
        try:
            with logging_to_stderr():
                result = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
            sys.stdout.flush()
            code = result if isinstance(result, int) else 0
        except BaseException as problem:  # noqa: BLE001 - the outermost edge
            code = _report_failure(problem, state)
        if OUTPUT.count:
            click.echo(notice(OUTPUT.count), err=True)
        sys.exit(code)


def _families(loaded: object) -> Families:
    """Returns families of commands that an entry point named.

    Raises:
        UsageError: It named something else.
    """
    if not isinstance(loaded, Mapping):
        raise UsageError("An entry point of the group echoless.commands names no families.")
    return loaded


def _loaded(name: str, module: str, short: str) -> click.Command:
    """Returns a command, imported now.

    Args:
        name: Of the command.
        module: Below `echoless.cli`, or the dotted name of another one.
        short: What it does, for the list of commands.
    """
    imported = importlib.import_module(module if "." in module else f"echoless.cli.{module}")
    loaded = getattr(imported, f"{name.replace('-', '_')}_command")
    assert isinstance(loaded, click.Command)
    loaded.short_help = short
    if name not in SAYS_NO_TEXT:
        _let_show_secrets(loaded)
    return loaded


def _let_show_secrets(command: click.Command) -> None:
    """Adds the option that shows secrets to a command, or to each command of a group."""
    if isinstance(command, click.Group):
        for each in command.commands.values():
            _let_show_secrets(each)
        return
    if any(OPTION in each.opts for each in command.params):
        return

    def show_secrets(_ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
        if wanted:
            OUTPUT.begin(shown=True)

    command.params.append(
        click.Option(
            (OPTION,),
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=show_secrets,
            envvar=VARIABLE,
            show_envvar=True,
            help="Print passwords, tokens and keys as they are; they are masked otherwise.",
        )
    )


def _safe(text: str) -> str:
    """Returns a message with its secrets masked and its control characters made visible."""
    return visible(OUTPUT.reason(text))


def _report_failure(problem: BaseException, state: CommandState) -> int:
    """Prints what went wrong, on standard error.

    Returns:
        The exit code.
    """
    if state.debug and not isinstance(problem, SystemExit):
        click.echo(_safe("".join(traceback.format_exception(problem))), err=True, nl=False)
    match problem:
        case SystemExit(code=code):
            return code if isinstance(code, int) else 1
        case EcholessError():
            for line in (f"Error: {problem}", *getattr(problem, "__notes__", ())):
                click.echo(on_one_line(OUTPUT.reason(line)), err=True)
            return problem.exit_code
        case click.ClickException():
            message = io.StringIO()
            problem.show(file=message)
            click.echo(_safe(message.getvalue()), err=True, nl=False)
            return problem.exit_code
        case click.Abort() | KeyboardInterrupt():
            click.echo(_interrupted(state), err=True)
            return INTERRUPTED
        case BrokenPipeError():
            # The reader of our output is gone: keep Python from complaining as it ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        case OSError(errno=errno.ENAMETOOLONG):
            name = str(problem.filename)
            click.echo(
                _safe(f"Error: The path {name[:40]}... has {len(name):,} characters, or a part ")
                + "longer than this system takes. Give a shorter one.",
                err=True,
            )
            return UsageError.exit_code
        case OSError(errno=number) if number in DISK:
            error = of_system(problem)
            click.echo(_safe(f"Error: {error}"), err=True)
            return error.exit_code
        case _:
            click.echo(
                _safe(f"Error: {type(problem).__name__}: {problem}. This should not happen; ")
                + "`echoless --debug ...` shows where it did.",
                err=True,
            )
            return 1


def _interrupted(state: CommandState) -> str:
    """Returns a sentence on the state after an interruption, with the command that repairs it."""
    if state.writing is not None:
        store = shlex.quote(without_password(state.writing))
        path = state.writing.partition(":///")[2] or state.writing
        if "#" not in path and "?" not in path and not Path(path).exists():
            return f"Interrupted; {store} was not made, and nothing of it was left."
        return f"Interrupted while writing. Nothing is lost: run `echoless check {store}`."
    if state.wrote is not None:
        return (
            "Interrupted after everything was written: "
            f"`echoless history {shlex.quote(without_password(state.wrote))}` shows what was done."
        )
    encoded, texts = state.encoded or (0, 0)
    if not encoded or not state.keeps:
        return "Interrupted; nothing was changed."
    return (
        f"Interrupted; nothing was changed. Vectors of {encoded:,} of {texts:,} texts are kept in "
        "the cache: the same command goes on from there."
    )


def run_group(group: click.Group, arguments: Sequence[str] | None) -> NoReturn:
    """Runs a group as a program and ends the process."""
    group.main(args=None if arguments is None else list(arguments), prog_name="echoless")
    raise AssertionError("main ends the process")
