"""Write `src/echoless/matching/lexicon/units.json`: each spelling of a unit with its factor.

`python tools/units.py` reads `unit_spellings.json` beside it and takes the factors of measures from
pint, as fractions without rounding. What is counted rather than measured (money, persons, pages)
has its factor in that file, and so has temperature: the judge knows its zero points. `--check`
changes nothing, and ends with code 1 if the file is out of date.
"""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from pathlib import Path
from typing import Final

from pint import UnitRegistry

SPELLINGS: Final = Path(__file__).with_name("unit_spellings.json")
FACTORS: Final = Path(__file__).parents[1] / "src/echoless/matching/lexicon/units.json"


def factors() -> dict[str, tuple[str, Fraction]]:
    """Returns the dimension and the factor of each spelling, folded by case.

    A dimension is the name of its base unit. Month and second, or inch and metre, are dimensions of
    their own: the judge does not compare a value in one with a value in the other.

    Raises:
        ValueError: A spelling stands in the list twice.
        pint.errors.PintError: A unit is unknown to pint, or not of its dimension.
    """
    registry = UnitRegistry(non_int_type=Fraction)
    told = json.loads(SPELLINGS.read_text("utf-8"))
    found: dict[str, tuple[str, Fraction]] = {}

    def put(words: list[str], base: str, factor: Fraction) -> None:
        for word in words:
            if word.casefold() in found:
                raise ValueError(f"{word!r} stands in {SPELLINGS.name} twice")
            found[word.casefold()] = base, factor

    for base, measure in told["measured"].items():
        for unit, words in measure["units"].items():
            one = registry.Quantity(unit).to(measure["in"])
            put(words, base, Fraction(one.magnitude))
    for base, counts in told["counted"].items():
        for factor, words in counts.items():
            put(words, base, Fraction(factor))
    return dict(sorted(found.items()))


def text() -> str:
    """Returns the file as it has to be, a spelling a line."""
    lines = (
        f" {json.dumps(word, ensure_ascii=False)}: {json.dumps([base, str(factor)])}"
        for word, (base, factor) in factors().items()
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main() -> int:
    """Writes the file, or says whether it is current."""
    if "--check" in sys.argv[1:]:
        return int(FACTORS.read_text("utf-8") != text())
    FACTORS.write_text(text(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
