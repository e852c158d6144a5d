"""A review of a small store."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from echoless.stores import open_store
from echoless.workflows.review.session import ReviewSession, open_review
from tests.workflows.review.notes import LEXICAL, write_notes


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of the store."""
    path = tmp_path / "notes.jsonl"
    write_notes(path)
    return path


@pytest.fixture
def opened(path: Path) -> Iterator[Callable[[], ReviewSession]]:
    """Opens the store and a review of it, as another process would."""
    with ExitStack() as stack:
        yield lambda: open_review(stack.enter_context(open_store(path)), LEXICAL)


@pytest.fixture
def session(opened: Callable[[], ReviewSession]) -> ReviewSession:
    """A review of the store."""
    return opened()
