"""What axe-core, the checker of accessibility, finds wrong on a page.

`python -m tests.web.axe` installs it below the virtual environment, as `package-lock.json` names
it. The tests do so themselves where it is missing.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Final

from playwright.sync_api import Page

from tests import node_packages

LOCKED: Final = Path(__file__).parent
FOLDER: Final = Path(sys.prefix) / "axe-core"

_RUN: Final = """async () => {
    const result = await axe.run(document, {resultTypes: ["violations"]});
    return result.violations.flatMap(rule => rule.nodes.map(node =>
        `${rule.id} (${rule.impact}): ${node.target.join(" ")}: ${node.failureSummary}`));
}"""


def install() -> Path:
    """Installs it where it is missing, and returns its script."""
    return node_packages.install(LOCKED, FOLDER) / "node_modules" / "axe-core" / "axe.min.js"


@cache
def _script() -> str:
    return install().read_text("utf-8")


def problems(page: Page) -> list[str]:
    """Returns what all rules of axe-core find on a page as it is shown now.

    The script comes through the debugger's door, which the page's own policy does not close.
    """
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(_script() + "; undefined")
    return list(page.evaluate(_RUN))
