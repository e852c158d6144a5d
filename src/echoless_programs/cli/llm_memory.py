"""The commands `llm-memory similar` and `llm-memory deduplicate`, which print the tools' JSON.

Exit codes are those of that program: 0 done, 1 something failed or was refused, 2 a wrong argument.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, Final

import click

from echoless.cli import render
from echoless.cli.options import examples, writing
from echoless.cli.progress import Bar
from echoless.core.destination import command_line
from echoless.core.document import records_in
from echoless.workflows.owner_tools import Answer
from echoless_programs.cli.program import takes
from echoless_programs.flags import flags
from echoless_programs.llm_memory import memory_deduplicate, memory_similar
from echoless_programs.llm_memory.tool_arguments import VALIDATION, file_of

_SIMILAR_FLAGS: Final = flags(
    "namespace=NAME search_scope=SCOPE top_k=N min_similarity=T exclude_linked db_path=FILE"
)
_DEDUPLICATE_FLAGS: Final = flags(
    "namespace=NAME similarity_threshold=T dry_run merge_strategy=NAME limit=N use_lsh"
    " merge_metadata guards db_path=FILE"
)


@click.group("llm-memory")
def llm_memory_command() -> None:
    """Compare and merge the memories of llm-memory (SQLite with sqlite-vec).

    The commands print the JSON of the tools memory_similar and memory_deduplicate. Reading needs
    nothing; merging needs the extra "llm-memory". Every merge can be taken back with
    `echoless undo llm-memory:///FILE last`.
    """


@llm_memory_command.command(
    "similar",
    epilog=examples(
        "echoless llm-memory similar 5f0c",
        "echoless llm-memory similar 5f0c --search-scope all --min-similarity 0.9",
    ),
)
@click.argument("memory_id", metavar="ID")
@takes("options", memory_similar, _SIMILAR_FLAGS)
def similar_command(*, memory_id: str, options: dict[str, Any]) -> int:
    """List the memories closest to the memory ID, by the cosine of the stored vectors."""
    return _show(memory_similar(memory_id, **options))


@llm_memory_command.command(
    "deduplicate",
    epilog=examples(
        "echoless llm-memory deduplicate",
        "echoless llm-memory deduplicate --namespace owner/repo --no-dry-run",
    ),
)
@takes("options", memory_deduplicate, _DEDUPLICATE_FLAGS)
def deduplicate_command(*, options: dict[str, Any]) -> int:
    """Group near-equal memories of one namespace; with --no-dry-run, merge each group into one."""
    store = f"llm-memory:///{file_of(options['db_path'])}"
    with Bar() as bar, nullcontext() if options["dry_run"] else writing(store):
        answer = memory_deduplicate(progress=bar, **options)
    code = _show(answer)
    if run := answer.get("run"):
        render.note(f"Back: {command_line('undo', store, str(run))}")
    return code


def _show(answer: Answer) -> int:
    """Prints an answer as JSON, and its errors on standard error.

    Returns:
        The exit code.
    """
    render.show_json(answer)
    if answer.get("error"):
        render.note(f"Error: {answer['message']}")
        return 2 if answer["error_type"] == VALIDATION else 1
    errors = records_in(answer.get("errors"))
    for each in errors:
        render.note(f"Group {each['group']}: {each['error']}")
    return 1 if errors else 0
