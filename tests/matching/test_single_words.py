"""With an encoder words that say little are set aside; not where they are all that differs."""

import pytest

from echoless import Memory
from echoless.workflows.pairs import Question, judge_pairs


def _merged(a: str, b: str) -> bool:
    asked = Question("1", Memory(id="a", content=a), Memory(id="b", content=b))
    (ruling,) = judge_pairs([asked], encoder="auto")
    return ruling.merge


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Anna lives in Berlin.", "Anna works in Berlin."),
        ("Tom takes insulin.", "Tom makes insulin."),
        ("Anna needs a visa for China.", "Anna has a visa for China."),
        ("Tom wears glasses.", "Tom needs glasses."),
        ("Ben has read and write access to the repo.", "Ben has read access to the repo."),
        ("Delete the file report.", "Delete the folder report."),
        ("Anna braucht ein Visum.", "Anna hat ein Visum."),
        ("太郎は東京に来た。", "太郎は東京に行った。"),
        ("Redis is as fast as Memcached.", "Redis is faster than Memcached."),
        ("Use O(n log n).", "Use O(n)."),
        ("The function divide(a, b) returns a / b.", "The function divide(a, b) returns b / a."),
    ],
)
def test_one_word_in_the_place_of_another_is_another_fact(a: str, b: str) -> None:
    assert not _merged(a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Logs are written to /var/log/app", "Log directory: /var/log/app"),
        ("The copy goes from Postgres to S3", "Copy direction: Postgres to S3"),
    ],
)
def test_in_another_wording_words_that_say_little_do_not_matter(a: str, b: str) -> None:
    assert _merged(a, b)
