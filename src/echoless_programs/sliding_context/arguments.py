"""Options of `sliding-context cleanup` and `capture`, and the tables of their flags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click

from echoless.core.errors import UsageError
from echoless.core.profiles import SLIDING_CONTEXT
from echoless_programs.flags import Flag, flags, with_flags
from echoless_programs.sliding_context.turn_decision import LANGUAGES, SUMMARY_CHARS

WINDOW_HOURS: Final = 168.0
"""How old an entry may be that is shown to the model."""

SIMILARITY: Final = SLIDING_CONTEXT.detectors[0].threshold or 0.85


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelArgs:
    """Options of both commands: the table, and the models that write and that embed.

    Attributes:
        db_path: The LanceDB folder. Required.
        api_key: For the model that writes; ANTHROPIC_API_KEY by default.
        embedding_api_key: For embeddings; OPENAI_API_KEY by default.
        embedding_model: Model of the table's vectors; told by their length by default.
        model: The model that writes, of Anthropic or as openai:NAME@URL; a small one by default.
        locale: Language in which the model is asked.
        llm: Ask a model for texts; or do without, by rule.
    """

    db_path: Path
    api_key: str = field(default="", repr=False)
    embedding_api_key: str = field(default="", repr=False)
    embedding_model: str | None = None
    model: str | None = None
    locale: str = "de"
    llm: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupArgs(ModelArgs):
    """Options of a cleanup.

    Attributes:
        dry_run: Show what would be merged; no key is needed.
        backup_dir: Where the copy made first goes; it must not exist. DB-PATH.backup.MILLISECONDS
            by default.
        similarity: Cosine above which entries are alike, above 0 and below 1.
        across_sessions: Merge entries of different session types and channels, too.
        guards: Hold pairs whose figures differ, or of which one denies something.
    """

    dry_run: bool = False
    backup_dir: Path | None = None
    similarity: float = SIMILARITY
    across_sessions: bool = False
    guards: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.similarity < 1:
            raise UsageError(f"--similarity {self.similarity:g} is not above 0 and below 1.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureArgs(ModelArgs):
    """Options of the capture of a turn.

    Attributes:
        prompt: What the model is asked for, in place of the request of the locale; {max_chars}
            stands for the number of characters.
        max_chars: Longest summary.
        window_hours: Entries older than that are not shown to the model.
        guards: Check what the model says is updated or skipped; or believe it.
    """

    prompt: str | None = None
    max_chars: int = SUMMARY_CHARS
    window_hours: float = WINDOW_HOURS
    guards: bool = True


def _folder(typed: str) -> Path:
    """Reads the path of a folder; `~` is the user's own."""
    if not typed:
        raise UsageError("The path of a folder may not be empty.")
    return Path(typed).expanduser()


def _prompt(typed: str) -> str:
    """Reads the file of a prompt, which may not be empty."""
    path = Path(typed).expanduser()
    try:
        text = path.read_text("utf-8").strip()
    except (OSError, ValueError) as problem:
        raise UsageError(f"--prompt-file {path} cannot be read ({problem}).") from problem
    if not text:
        raise UsageError(f"--prompt-file {path} is empty.")
    return text


_MODELS: Final = (
    Flag("api_key", metavar="KEY", variable="ANTHROPIC_API_KEY"),
    Flag("embedding_api_key", metavar="KEY", variable="OPENAI_API_KEY"),
    *flags("embedding_model=NAME model=NAME"),
    Flag("locale", words=LANGUAGES),
    *flags("llm"),
)

CLEANUP_FLAGS: Final = (
    Flag("db_path", metavar="PATH", type=_folder),
    *flags("dry_run"),
    Flag("backup_dir", metavar="PATH", type=_folder),
    *flags("similarity=F"),
    *_MODELS,
    *flags("across_sessions guards"),
)

CAPTURE_FLAGS: Final = (
    Flag("db_path", metavar="PATH", type=_folder),
    *_MODELS,
    Flag("prompt", metavar="FILE", names=("--prompt-file",), type=_prompt),
    *flags("max_chars=N window_hours=H guards"),
)


def parse_args(argv: Sequence[str]) -> CleanupArgs:
    """Reads the flags of `cleanup` from a command line, without the words before them.

    Raises:
        UsageError: A flag is unknown, a value wrong, or --db-path missing.
    """

    @click.command("cleanup", add_help_option=False)
    @with_flags(CleanupArgs, CLEANUP_FLAGS)
    def cleanup(**values: Any) -> CleanupArgs:
        return CleanupArgs(**values)

    try:
        return CleanupArgs(**cleanup.make_context("cleanup", list(argv)).params)
    except click.UsageError as problem:
        raise UsageError(problem.format_message()) from problem
