"""The files a partition ends in: a plan, and a report whose presence says that it is finished.

The report is a Parquet file with one row for each namespace, so that any engine for tables can add
up a million of them. What belongs to the whole partition stands in the metadata of its schema.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from echoless.core.errors import InputError
from echoless.core.optional import lazy_module, require_module
from echoless.workflows.audit.incremental import packed
from echoless.workflows.audit.namespace_report import Page

if TYPE_CHECKING:
    import pyarrow
    from pyarrow import parquet
else:
    pyarrow = lazy_module("pyarrow")
    parquet = lazy_module("pyarrow.parquet")

_METADATA: Final = b"echoless"
"""Key of the metadata in the schema of a report."""


REPORT: Final = ".parquet"
PLAN: Final = ".plan.json"
FAILURE: Final = ".failed.json"
"""Ends of the names of the files of a partition."""

FailureKind: TypeAlias = Literal["failed", "lasting", "lost", "refused"]
"""As in `Failed`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A partition that ended in a plan and a report.

    Attributes:
        number: Of the partition.
        fingerprint: Digest of what it was made from.
        memories: Memories that were looked at.
        groups: Groups found.
        redundant: Memories that the plan hides or removes.
        plan: Id of its plan; empty where there is nothing to do.
        actions: Digest of each action of the plan, sorted.
        worker: Host and process.
        seconds: How long it took.
        cpu: Seconds of processor time it took, of all threads of the process.
        peak: Most bytes of memory the process had held by its end.
        finished_at: When it ended.
        notes: Sentences about the run.
        unchanged: Whether it was known from an earlier run, and nothing had changed.
    """

    number: int
    fingerprint: str
    memories: int
    groups: int
    redundant: int
    plan: str
    actions: tuple[str, ...]
    worker: str
    seconds: float
    cpu: float
    peak: int
    finished_at: str
    notes: tuple[str, ...] = ()
    unchanged: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A partition that could not be finished.

    Attributes:
        number: Of the partition.
        reason: What went wrong, in a sentence.
        kind: `failed` may pass, `lasting` would fail again, `lost` ended without an answer, and
            `refused` concerns the worker: it cannot work on this job at all.
        worker: Host and process; empty where the worker itself was lost.
        attempts: How often it was tried.
    """

    number: int
    reason: str
    kind: FailureKind = "failed"
    worker: str = ""
    attempts: int = 1


def check_installed() -> None:
    """Checks that the library for Parquet is installed.

    Raises:
        MissingExtra: It is not.
    """
    require_module("pyarrow", "A job with partitions", "scale")


def file_name(number: int, ending: str) -> str:
    """Returns the name of a file of a partition.

    Args:
        number: Of the partition.
        ending: `REPORT`, `PLAN` or `FAILURE`.
    """
    return f"{number:07d}{ending}"


def numbers_of(names: Iterable[str], ending: str) -> list[int]:
    """Returns the numbers of the partitions that have a file of a kind, ascending.

    Args:
        names: Of all files.
        ending: As for `file_name`.
    """
    stems = (name.removesuffix(ending) for name in names if name.endswith(ending))
    return sorted(int(stem) for stem in stems if stem.isdecimal())


def report_file(finished: Finished, pages: Sequence[Page]) -> bytes:
    """Returns the report of a partition: what became of it, and its pages by namespace."""
    rows: dict[str, list[str] | list[int] | list[bytes]] = {
        "namespace": [  # in valid UTF-8; the page itself has the exact name
            page.namespace.encode("utf-8", "backslashreplace").decode("utf-8") for page in pages
        ],
        "memories": [page.total for page in pages],
        "marked": [page.marked for page in pages],
        "groups": [len(page.groups) for page in pages],
        "redundant": [page.share.redundant for page in pages],
        "page": [packed(page) for page in pages],
    }
    kinds = zip(rows, ("string", *["int64"] * 4, "binary"), strict=True)
    fields = {name: value for name, value in asdict(finished).items() if name != "unchanged"}
    schema = pyarrow.schema(
        [(name, getattr(pyarrow, kind)()) for name, kind in kinds],
        metadata={_METADATA: json.dumps(fields).encode("ascii")},
    )
    file = io.BytesIO()
    parquet.write_table(pyarrow.table(rows, schema=schema), file, compression="zstd")
    return file.getvalue()


def finished_of(data: bytes, place: str) -> Finished:
    """Returns what became of a partition, from its report.

    Raises:
        InputError: The report is damaged.
    """
    try:
        metadata = parquet.read_schema(io.BytesIO(data)).metadata or {}
        return finished_from_json(json.loads(metadata[_METADATA]))
    except (
        pyarrow.ArrowException,
        OSError,
        KeyError,
        TypeError,
        ValueError,
        RecursionError,
    ) as problem:
        raise _damaged(place, problem) from problem


def finished_from_json(fields: dict[str, Any]) -> Finished:
    """Returns the result of a partition from its JSON fields.

    Raises:
        KeyError: A list is missing.
        TypeError: A field is missing or unknown.
    """
    lists = {name: tuple(fields[name]) for name in ("actions", "notes")}
    return Finished(**{**fields, **lists})


def failure_file(failed: Failed) -> bytes:
    """Returns the file that says why a partition failed."""
    return json.dumps(asdict(failed)).encode("ascii")


def failed_of(data: bytes, place: str) -> Failed:
    """Returns why a partition failed, from its file.

    Raises:
        InputError: The file is damaged.
    """
    try:
        return Failed(**json.loads(data))
    except (TypeError, ValueError, RecursionError) as problem:
        raise _damaged(place, problem) from problem


def _damaged(place: str, problem: object) -> InputError:
    return InputError(
        f"{place} is damaged ({problem}). Remove it: the next run of the job makes it anew."
    )
