"""Long texts of one pattern: `python -m benchmarks.judge_growth [--patterns 300] [--seed 1]`.

A pattern is one to six pieces (brackets, bullets, digits, dates, marks, words of several scripts)
repeated to 20,000 characters. The text is judged against itself with another last character, and
against itself moved by two. None may take more than a second of processor time.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator
from typing import Final

from benchmarks.measure import keep
from echoless import Memory
from echoless.core.settings import Choices, Settings, resolve
from echoless.workflows.pairs.judge_pairs import Question, judge_pairs

LENGTH: Final = 20_000
PIECES: Final = (
    *("e\u0301", "(", ")", "[", "]", "{", "}", "a", "B", "A", "1", "2.5", "-", "- x\n", "* "),
    *("\u2022 a\n", ":", "=", ";", ",", ".", "!", "?", "/", "\\", "|", "&", "+", "#", "`", "```"),
    *('"', "'", "\u201e", "\n", "\r\n", "\t", "  ", "http://a.b/c?d=e&", "a@b.c ", "2026-01-02 "),
    *("10:30 ", "v1.2.3 ", "not ", "no ", "and ", "or ", "\u6771\u4eac", "\u306f", "\u3001"),
    *("\u3002", "\U0001f600", "\u2705 ", "\u200d", "\u200b", "Ab ", "aB", "Dr. ", "3 days ago "),
    *("10 % ", "$5 ", "key: v, ", '{"a": 1}, ', "<b>", "&amp;", "~", "^", "_", "x_y", "x-y "),
    *("\u00df", "\u2014", "1/2 ", "1,000 ", "0x1F ", "Mr ", "instead of ", "from A to B ", "if "),
    *("because ", "a (A) ", "A: b; ", "[x] ", "1. ", "a) ", "yesterday ", "Monday ", "5 km "),
    *("five ", "one hundred ", "the ", "isn't ", "A[", "a(b, "),
)


def patterns(count: int, seed: int) -> list[str]:
    """Every piece alone, and `count` mixtures."""
    draw = random.Random(seed)
    return [*PIECES, *("".join(draw.sample(PIECES, draw.randint(2, 6))) for _ in range(count))]


def pairs(pattern: str, length: int = LENGTH) -> Iterator[Question]:
    """The two pairs of a pattern."""
    text = (pattern * length)[:length]
    for other in (text[:-1] + ("3" if text[-1] == "2" else "2"), f"z {text[:-2]}"):
        yield Question(pattern, Memory(id="a", content=text), Memory(id="b", content=other))


def without_encoder() -> Settings:
    """Words and values only."""
    return resolve(Choices(semantic=False, encoder="none", cache=False))


def main() -> None:
    """Measure and keep."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--patterns", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    settings, spent = without_encoder(), []
    list(judge_pairs(pairs("warm "), settings))
    for pattern in patterns(chosen.patterns, chosen.seed):
        for question in pairs(pattern):
            start = time.process_time()
            list(judge_pairs([question], settings))
            spent.append((time.process_time() - start, pattern))
    spent.sort(reverse=True)
    rows = "\n".join(f"| `{pattern!r}` | {seconds:.2f} |" for seconds, pattern in spent[:10])
    body = (
        f"{len(spent):,} pairs of {LENGTH:,} characters. Above a second: "
        f"{sum(seconds > 1 for seconds, _ in spent)}. The slowest:\n\n"
        f"| pattern | s |\n| --- | --- |\n{rows}\n"
    )
    command = f"python -m benchmarks.judge_growth --patterns {chosen.patterns} --seed {chosen.seed}"
    keep("judge_growth", "Judging long texts of one pattern", command, body)


if __name__ == "__main__":
    main()
