"""The outermost edge: commands loaded when they are called, errors turned into exit codes."""

from __future__ import annotations

import errno
import importlib
import io
import logging
import os
import shlex
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Final, NoReturn

import click

from echoless.cli.options import State
from echoless.core.destination import LOG
from echoless.core.failures import DISK, of_system
from echoless.core.masking import OPTION, OUTPUT, VARIABLE, notice
from echoless.core.own_folders import LOG as CACHES
from echoless.core.visible import on_one_line, visible
from echoless.errors import INTERRUPTED, EcholessError, UsageError

Families = Mapping[str, Mapping[str, tuple[str, str]]]
"""Module and short help by command, by title of the family."""


SAYS_NO_TEXT: Final = frozenset(
    {"trust", "stores", "detectors", "encoders", "profiles", "completion", "demo"}
)
"""Commands that print nothing of a memory."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are needed, so that `--help` is quick.

    The attribute of a command is `NAME_command` in its module, `-` written as `_`.
    """

    families: ClassVar[Families] = {}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """All names, in the order of the families."""
        return [name for family in self.families.values() for name in family]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import one command."""
        for family in self.families.values():
            if cmd_name in family:
                module, short = family[cmd_name]
                attribute = f"{cmd_name.replace('-', '_')}_command"
                loaded = getattr(importlib.import_module(f"echoless.cli.{module}"), attribute)
                assert isinstance(loaded, click.Command)
                loaded.short_help = short
                if cmd_name not in SAYS_NO_TEXT:
                    _let_show_secrets(loaded)
                return loaded
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands by family, without importing any."""
        for title, family in self.families.items():
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
        """Run, and end the process unless `standalone_mode` is false.

        Every error raised on purpose becomes one line on standard error and its exit code.
        """
        _forgive_encodings()
        OUTPUT.begin()
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        state = State()
        extra.setdefault("obj", state)
        try:
            with _speaking_up():
                result = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
            sys.stdout.flush()
            code = result if isinstance(result, int) else 0
        except BaseException as problem:  # noqa: BLE001 - the outermost edge
            code = _failed(problem, state)
        if OUTPUT.count:
            click.echo(notice(OUTPUT.count), err=True)
        sys.exit(code)


def _let_show_secrets(command: click.Command) -> None:
    """Give a command, or each of a group, the option that shows secrets."""
    if isinstance(command, click.Group):
        for each in command.commands.values():
            _let_show_secrets(each)
    elif not any(OPTION in each.opts for each in command.params):
        command.params.append(_show_secrets())


def _show_secrets() -> click.Option:
    def shown(_ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
        if wanted:
            OUTPUT.begin(shown=True)

    return click.Option(
        (OPTION,),
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=shown,
        envvar=VARIABLE,
        show_envvar=True,
        help="Print passwords, tokens and keys as they are; they are masked otherwise.",
    )


def _safe(text: str) -> str:
    """A message that repeats no secret and hides nothing."""
    return visible(OUTPUT.reason(text))


class _OnceEach(logging.Handler):
    """Prints each sentence once, at once: a destination is told before anything is sent there."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Print it on standard error; nothing but results stands on standard output."""
        sentence = record.getMessage()
        if sentence not in self._said:
            self._said.add(sentence)
            click.echo(_safe(sentence), err=True)


@contextmanager
def _speaking_up() -> Iterator[None]:
    """Print where texts go, and what became of caches, on standard error."""
    handler = _OnceEach()
    before = [(log, log.level, log.propagate) for log in (LOG, CACHES)]
    for log, least in ((LOG, logging.INFO), (CACHES, logging.WARNING)):
        log.addHandler(handler)
        log.setLevel(least)
        log.propagate = False
    try:
        yield
    finally:
        for log, level, propagates in before:
            log.removeHandler(handler)
            log.setLevel(level)
            log.propagate = propagates


def _failed(problem: BaseException, state: State) -> int:
    """Say what went wrong, on standard error.

    Returns:
        The exit code.
    """
    if state.debug and not isinstance(problem, SystemExit):
        click.echo(_safe("".join(traceback.format_exception(problem))), err=True, nl=False)
    match problem:
        case SystemExit(code=code):
            return code if isinstance(code, int) else 1
        case EcholessError():
            click.echo(on_one_line(OUTPUT.reason(f"Error: {problem}")), err=True)
            return problem.exit_code
        case click.ClickException():
            said = io.StringIO()
            problem.show(file=said)
            click.echo(_safe(said.getvalue()), err=True, nl=False)
            return problem.exit_code
        case click.Abort() | KeyboardInterrupt():
            click.echo(_interrupted(state), err=True)
            return INTERRUPTED
        case BrokenPipeError():
            _silence()
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


def _interrupted(state: State) -> str:
    if state.writing is not None and not _is_there(state.writing):
        return f"Interrupted; {state.writing} was not made, and nothing of it was left."
    if state.writing is not None:
        return f"Interrupted while writing. Nothing is lost: run `echoless check {state.writing}`."
    if state.wrote is not None:
        return (
            "Interrupted after everything was written: "
            f"`echoless history {state.wrote}` shows what was done."
        )
    return f"Interrupted; nothing was changed.{_kept(state)}"


def _is_there(quoted: str) -> bool:
    """Whether the file of a store is there; a store whose path is not plain is."""
    (store,) = shlex.split(quoted)
    path = store.partition(":///")[2] or store
    return "#" in path or "?" in path or Path(path).exists()


def _kept(state: State) -> str:
    """What the next run need not do again."""
    if state.encoded is None or not state.encoded[0] or not state.keeps:
        return ""
    done, whole = state.encoded
    return (
        f" Vectors of {done:,} of {whole:,} texts are kept in the cache: the same command goes on "
        "from there."
    )


def _silence() -> None:
    """The reader of our output is gone: keep the interpreter from complaining as it ends."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())


def _forgive_encodings() -> None:
    """Print what the terminal cannot show as an escape instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def run_group(group: click.Group, arguments: Sequence[str] | None) -> NoReturn:
    """Run a group as a program."""
    group.main(args=None if arguments is None else list(arguments), prog_name="echoless")
    raise AssertionError("main ends the process")
