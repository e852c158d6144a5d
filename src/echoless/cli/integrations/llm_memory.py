"""The commands `llm-memory similar` and `llm-memory deduplicate`, which print the tools' JSON.

Exit codes are those of that program: 0 done, 1 something failed or was refused, 2 a wrong argument.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TypedDict, Unpack

import click

from echoless.cli import render
from echoless.cli.options import examples, writing
from echoless.cli.progress import Bar
from echoless.core.commands import command_line
from echoless.core.document import records_in
from echoless.integrations.llm_memory.deduplicate import memory_deduplicate
from echoless.integrations.llm_memory.memory_file import file_of
from echoless.integrations.llm_memory.similar_memories import memory_similar
from echoless.integrations.llm_memory.validation import VALIDATION
from echoless.workflows.tool_answers import Answer

_db_path = click.option(
    "--db-path",
    metavar="FILE",
    help="The database; by default $LLM_MEMORY_DATABASE_PATH, else data/llm_memory.db.",
)
_namespace = click.option(
    "--namespace",
    metavar="NAME",
    help="By default $LLM_MEMORY_DEFAULT_NAMESPACE, else owner/repo of the remote origin, else the "
    "name of the folder.",
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
@_namespace
@click.option(
    "--search-scope",
    default="current",
    show_default=True,
    metavar="SCOPE",
    help="current (the namespace), shared (that and shared) or all.",
)
@click.option(
    "--top-k", type=int, default=10, show_default=True, metavar="N", help="At most N, 1 to 1000."
)
@click.option(
    "--min-similarity",
    type=float,
    default=0.85,
    show_default=True,
    metavar="T",
    help="Cosine, 0.0 to 1.0, inclusive.",
)
@click.option(
    "--exclude-linked/--no-exclude-linked",
    default=True,
    show_default=True,
    help="Leave out memories linked with it in either direction.",
)
@_db_path
def similar_command(
    *,
    memory_id: str,
    namespace: str | None,
    search_scope: str,
    top_k: int,
    min_similarity: float,
    exclude_linked: bool,
    db_path: str | None,
) -> int:
    """List the memories closest to the memory ID, by the cosine of the stored vectors."""
    return _show(
        memory_similar(
            memory_id,
            namespace=namespace,
            search_scope=search_scope,
            top_k=top_k,
            min_similarity=min_similarity,
            exclude_linked=exclude_linked,
            db_path=db_path,
        )
    )


class _DeduplicateOptions(TypedDict):
    """Options that `memory_deduplicate` takes as they are."""

    namespace: str | None
    similarity_threshold: float
    merge_strategy: str
    limit: int
    use_lsh: bool
    merge_metadata: bool
    guards: bool
    second_look: bool


@llm_memory_command.command(
    "deduplicate",
    epilog=examples(
        "echoless llm-memory deduplicate",
        "echoless llm-memory deduplicate --namespace owner/repo --no-dry-run",
    ),
)
@_namespace
@click.option(
    "--similarity-threshold",
    type=float,
    default=0.95,
    show_default=True,
    metavar="T",
    help="Cosine, 0.0 to 1.0, inclusive.",
)
@click.option(
    "--dry-run/--no-dry-run", default=True, show_default=True, help="Preview, or merge the groups."
)
@click.option(
    "--merge-strategy",
    default="keep_newest",
    show_default=True,
    metavar="NAME",
    help="keep_newest, keep_oldest, keep_most_accessed or highest_importance.",
)
@click.option(
    "--limit",
    type=int,
    default=1000,
    show_default=True,
    metavar="N",
    help="The N most recent memories take part, 1 to 10000.",
)
@click.option(
    "--use-lsh/--no-use-lsh",
    default=True,
    show_default=True,
    help="Compare a thousand memories and more by random hyperplanes.",
)
@click.option(
    "--merge-metadata/--no-merge-metadata",
    default=True,
    show_default=True,
    help="Give tags and metadata of the duplicates to the one that stays.",
)
@click.option(
    "--guards/--no-guards",
    default=True,
    show_default=True,
    help="Keep apart texts that differ in a number, a negation, a name or another value; or trust "
    "the cosine alone, as the original does.",
)
@click.option(
    "--second-look",
    is_flag=True,
    help="Also tell what the bare threshold would merge and the full judge would hold back.",
)
@_db_path
def deduplicate_command(
    *, dry_run: bool, db_path: str | None, **options: Unpack[_DeduplicateOptions]
) -> int:
    """Group near-equal memories of one namespace; with --no-dry-run, merge each group into one."""
    store = f"llm-memory:///{file_of(db_path)}"
    with Bar() as bar, nullcontext() if dry_run else writing(store):
        answer = memory_deduplicate(dry_run=dry_run, db_path=db_path, progress=bar, **options)
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
