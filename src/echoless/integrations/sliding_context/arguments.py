"""Flags of `sliding-context cleanup` and `capture`, for the commands and for `parse_args`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypedDict, Unpack

import click

from echoless.core.errors import UsageError
from echoless.core.profiles import SLIDING_CONTEXT
from echoless.integrations.sliding_context.turn_prompt import LANGUAGES

SUMMARY_CHARS: Final = 500
"""Longest summary, in characters."""

WINDOW_HOURS: Final = 168.0
"""How old an entry may be that is shown to the model."""

SIMILARITY: Final = SLIDING_CONTEXT.detectors[0].threshold or 0.85
LOCALES: Final = ("de", "en", "ja")


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupArgs:
    """Options of a cleanup.

    Attributes:
        db_path: The LanceDB folder.
        dry_run: Show, change nothing.
        backup_dir: Where the copy goes; beside the folder, with the time in its name, if None.
        similarity: Cosine above which entries are alike, above 0 and below 1, strictly.
        api_key: For the model that merges.
        embedding_api_key: For embeddings.
        embedding_model: Its name; by the length of the table's vectors if None.
        model: Name of the model that merges; the adapter's own if None.
        locale: Language of the prompt.
        llm: False merges without a model.
        across_sessions: Entries of different session types and channels may be merged.
        guards: Hold pairs whose figures or denials differ.
    """

    db_path: Path
    dry_run: bool = False
    backup_dir: Path | None = None
    similarity: float = SIMILARITY
    api_key: str = field(default="", repr=False)
    embedding_api_key: str = field(default="", repr=False)
    embedding_model: str | None = None
    model: str | None = None
    locale: str = "de"
    llm: bool = True
    across_sessions: bool = False
    guards: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureArgs:
    """Options of the capture of a turn.

    Attributes:
        db_path: The LanceDB folder.
        api_key: For the model that writes.
        embedding_api_key: For embeddings.
        embedding_model: Its name; by the length of the table's vectors if None.
        model: Name of the model that writes; the adapter's own if None.
        locale: Language of the prompt.
        prompt: In place of the locale's request for a summary, or None.
        llm: False sums up by rule.
        max_chars: Of a summary.
        window_hours: How old a recent entry may be.
        guards: Whether what the model says is checked.
    """

    db_path: Path
    api_key: str = field(default="", repr=False)
    embedding_api_key: str = field(default="", repr=False)
    embedding_model: str | None = None
    model: str | None = None
    locale: str = "de"
    prompt: str | None = None
    llm: bool = True
    max_chars: int = SUMMARY_CHARS
    window_hours: float = WINDOW_HOURS
    guards: bool = True


def _between(_ctx: click.Context, _option: click.Parameter, value: float) -> float:
    """Checks that a value lies above 0 and below 1."""
    if not 0 < value < 1:
        raise click.BadParameter(f"{value:g} is not above 0 and below 1.")
    return value


_DB_PATH: Final = click.Option(["--db-path"], metavar="PATH", help="The LanceDB folder. Required.")
_API_KEY: Final = click.Option(
    ["--api-key"],
    metavar="KEY",
    default="",
    help="For the model that writes; ANTHROPIC_API_KEY by default.",
)
_EMBEDDING_API_KEY: Final = click.Option(
    ["--embedding-api-key"],
    metavar="KEY",
    default="",
    help="For embeddings; OPENAI_API_KEY by default.",
)
_EMBEDDING_MODEL: Final = click.Option(
    ["--embedding-model"],
    metavar="NAME",
    help="Model of the table's vectors; told by their length by default.",
)
_MODEL: Final = click.Option(
    ["--model"],
    metavar="NAME",
    help="The model that writes, of Anthropic or as openai:NAME@URL; a small one by default.",
)


def _locale(known: Sequence[str]) -> click.Option:
    """Returns the flag `--locale` with these choices."""
    return click.Option(
        ["--locale"],
        type=click.Choice(known),
        default="de",
        show_default=True,
        help="Language in which the model is asked.",
    )


_NO_LLM: Final = click.Option(["--no-llm"], is_flag=True, help="Do without a model, by rule.")

OPTIONS: Final[tuple[click.Option, ...]] = (
    _DB_PATH,
    click.Option(["--dry-run"], is_flag=True, help="Show what would be merged; no key is needed."),
    click.Option(
        ["--backup-dir"],
        metavar="PATH",
        help="Where the copy made first goes; it must not exist. DB-PATH.backup.MILLISECONDS by "
        "default.",
    ),
    click.Option(
        ["--similarity"],
        type=float,
        default=SIMILARITY,
        show_default=True,
        callback=_between,
        metavar="F",
        help="Cosine above which entries are alike, above 0 and below 1.",
    ),
    _API_KEY,
    _EMBEDDING_API_KEY,
    _EMBEDDING_MODEL,
    _MODEL,
    _locale(LOCALES),
    _NO_LLM,
    click.Option(
        ["--across-sessions"],
        is_flag=True,
        help="Merge entries of different session types and channels, too.",
    ),
    click.Option(
        ["--guards"],
        is_flag=True,
        help="Hold pairs whose figures differ, or of which one denies something.",
    ),
)

CAPTURE_OPTIONS: Final[tuple[click.Option, ...]] = (
    _DB_PATH,
    _API_KEY,
    _EMBEDDING_API_KEY,
    _EMBEDDING_MODEL,
    _MODEL,
    _locale(LANGUAGES),
    click.Option(
        ["--prompt-file"],
        metavar="FILE",
        help="What the model is asked for, in place of the request of the locale; {max_chars} "
        "stands for the number of characters.",
    ),
    _NO_LLM,
    click.Option(
        ["--max-chars"],
        type=int,
        default=SUMMARY_CHARS,
        show_default=True,
        metavar="N",
        help="Longest summary.",
    ),
    click.Option(
        ["--window-hours"],
        type=float,
        default=WINDOW_HOURS,
        show_default=True,
        metavar="H",
        help="Entries older than that are not shown to the model.",
    ),
    click.Option(
        ["--no-guards"],
        is_flag=True,
        help="Believe the model, whatever it says is updated or skipped.",
    ),
)


def parse_args(argv: Sequence[str]) -> CleanupArgs:
    """Reads the flags of a command line, without the words before them.

    Raises:
        UsageError: A flag is unknown, a value wrong, or --db-path missing.
    """
    command = click.Command("cleanup", params=list(OPTIONS), add_help_option=False)
    try:
        context = command.make_context("cleanup", list(argv))
    except click.UsageError as problem:
        raise UsageError(problem.format_message()) from problem
    return cleanup_args(**context.params)


class _SharedFlags(TypedDict):
    db_path: str | None
    api_key: str
    embedding_api_key: str
    embedding_model: str | None
    model: str | None
    locale: str
    no_llm: bool


class CleanupFlags(_SharedFlags):
    """Values of `OPTIONS`."""

    dry_run: bool
    backup_dir: str | None
    similarity: float
    across_sessions: bool
    guards: bool


class CaptureFlags(_SharedFlags):
    """Values of `CAPTURE_OPTIONS`."""

    prompt_file: str | None
    max_chars: int
    window_hours: float
    no_guards: bool


def cleanup_args(**flags: Unpack[CleanupFlags]) -> CleanupArgs:
    """Returns options from the values of the flags; missing keys come from the environment.

    Raises:
        UsageError: --db-path is missing.
    """
    db_path, backup_dir = flags["db_path"], flags["backup_dir"]
    if not db_path:
        raise UsageError("--db-path is required")
    return CleanupArgs(
        db_path=Path(db_path).expanduser(),
        dry_run=flags["dry_run"],
        backup_dir=Path(backup_dir).expanduser() if backup_dir else None,
        similarity=flags["similarity"],
        api_key=flags["api_key"] or os.environ.get("ANTHROPIC_API_KEY", ""),
        embedding_api_key=flags["embedding_api_key"] or os.environ.get("OPENAI_API_KEY", ""),
        embedding_model=flags["embedding_model"],
        model=flags["model"],
        locale=flags["locale"],
        llm=not flags["no_llm"],
        across_sessions=flags["across_sessions"],
        guards=flags["guards"],
    )


def capture_args(**flags: Unpack[CaptureFlags]) -> CaptureArgs:
    """Returns options from the values of the flags of `capture`, as `cleanup_args`.

    Raises:
        UsageError: --db-path is missing, or the file of the prompt cannot be read.
    """
    db_path, prompt_file = flags["db_path"], flags["prompt_file"]
    if not db_path:
        raise UsageError("--db-path is required")
    return CaptureArgs(
        db_path=Path(db_path).expanduser(),
        api_key=flags["api_key"] or os.environ.get("ANTHROPIC_API_KEY", ""),
        embedding_api_key=flags["embedding_api_key"] or os.environ.get("OPENAI_API_KEY", ""),
        embedding_model=flags["embedding_model"],
        model=flags["model"],
        locale=flags["locale"],
        prompt=None if prompt_file is None else _prompt(Path(prompt_file).expanduser()),
        llm=not flags["no_llm"],
        max_chars=flags["max_chars"],
        window_hours=flags["window_hours"],
        guards=not flags["no_guards"],
    )


def _prompt(path: Path) -> str:
    """Reads the file of the prompt, which may not be empty."""
    try:
        text = path.read_text("utf-8").strip()
    except (OSError, ValueError) as problem:
        raise UsageError(f"--prompt-file {path} cannot be read ({problem}).") from problem
    if not text:
        raise UsageError(f"--prompt-file {path} is empty.")
    return text
