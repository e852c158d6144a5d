"""The programs `python` and `echoless` of this checkout, as an installation has them.

`python -I` reads no PYTHONPATH, so an environment of its own finds the sources here.
"""

from __future__ import annotations

import site
import tempfile
import venv
from functools import cache
from pathlib import Path

_FOLDER = tempfile.TemporaryDirectory(prefix="echoless-programs-")
_SCRIPT = "#!{}\nfrom echoless.cli.main import run\n\nif __name__ == '__main__':\n    run()\n"


@cache
def programs() -> Path:
    """Returns the folder of the two programs; it goes when the tests end."""
    made = Path(_FOLDER.name)
    venv.EnvBuilder(symlinks=True).create(made)
    (packages,) = made.glob("lib/python*/site-packages")
    sources = Path(__file__).parents[1] / "src"
    packages.joinpath("own.pth").write_text("\n".join([str(sources), *site.getsitepackages()]))
    script = made / "bin" / "echoless"
    script.write_text(_SCRIPT.format(made / "bin" / "python"))
    script.chmod(0o755)
    return made / "bin"
