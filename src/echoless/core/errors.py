"""All errors of echoless; each says what failed, for which id or line, and what to do next.

```
EcholessError                1   something failed or was refused
├── UsageError               2   a flag, a threshold, a namespace, an order that does not exist
├── InputError               3   data that cannot be read as memories
│   ├── StoreNotFound            no such file
│   ├── ForeignStore             not a store of ours: not a database, or another program's
│   ├── LedgerDamaged            a part of the ledger cannot be read (which, and why)
│   ├── BadRecord                one record is broken (which line or id, and why)
│   └── DuplicateId              two records carry one id
├── StoreError               4   the store cannot do it now
│   ├── StoreLocked              another process holds it
│   ├── StoreReadOnly            the file or folder may not be written
│   ├── StoreFull                no space left
│   ├── StoreReplaced            another file lies where the store was opened
│   ├── StoreChanged             another program wrote to it since it was read
│   └── StoreUnfinished          a program was stopped in the middle of a write to the file
├── PlanError                5   the plan cannot be carried out
│   ├── PlanUnreadable           not a plan file, or edited by hand
│   ├── PlanForeign              made for another store
│   ├── PlanUsed                 used before
│   ├── PlanRefused              the store did not keep what was written; all was rolled back
│   └── PlanTooLarge             it would hide more than was allowed; nothing was written
├── UndoConflict             6   someone edited the records since
├── MissingExtra             7   an optional library is not installed
├── DamagedPackage           7   a file of an installed package is not as it was installed
├── EncoderError             8   the embedding model failed
├── VerifierError            8   the verifier failed
└── ModelError               8   a language model failed
    └── ModelUnavailable         it can answer nothing: no server, a wrong key, no such model
```

`remember` ends with 9 (`NEEDS_REVIEW`) where it held a text back, `audit`, `doctor` and `compare`
with 10 (`OVER_LIMIT`) where more is wrong than was allowed, and an interrupted command with 130.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Final

NEEDS_REVIEW: Final = 9
"""Exit code of `remember` when a text was held back for a person to decide."""

OVER_LIMIT: Final = 10
"""Exit code where more is wrong than `audit --fail-over`, `doctor --fail-under` or
`compare --fail-on` allows."""

INTERRUPTED: Final = 130
"""Exit code after Ctrl-C (128 + SIGINT, the shell's convention)."""


class EcholessError(Exception):
    """Root of all errors raised on purpose.

    Attributes:
        exit_code: What the command line ends with.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str = "", *more: str) -> None:
        """Makes the error.

        Args:
            message: What failed, for which id, and what to do next.
            more: Other ways to go on, each for a line of its own; notes of the exception.
        """
        super().__init__(message)
        for line in more:
            self.add_note(line)


class UsageError(EcholessError):
    """Error for a wrong call: an unknown name or a value out of range."""

    exit_code = 2


class InputError(EcholessError):
    """Error for data that cannot be read as memories."""

    exit_code = 3


class StoreNotFound(InputError):
    """Error for a store whose file does not exist."""


class ForeignStore(InputError):
    """Error for a file that is no store of a known kind, or no database at all."""


class LedgerDamaged(InputError):
    """Error for a part of the ledger that cannot be read; the message names table or row.

    Not a `StoreError`: to wait, or to free space, does not help.

    Attributes:
        part: What cannot be read and why, without the way on.
    """

    def __init__(self, message: str, *, part: str = "") -> None:
        super().__init__(message)
        self.part = part or message


class BadRecord(InputError):
    """Error for one broken record; the message names its line or id, and the reason."""


class DuplicateId(InputError):
    """Error for two records with the same id."""


class StoreError(EcholessError):
    """Error for a store that cannot be used now."""

    exit_code = 4


class StoreLocked(StoreError):
    """Error for a store that another process is writing to."""


class StoreReadOnly(StoreError):
    """Error for a file or folder that may not be written."""


class StoreFull(StoreError):
    """Error for a disk without free space; nothing was changed."""


class StoreReplaced(StoreError):
    """Error for a file that was removed or replaced since it was opened."""


class StoreChanged(StoreError):
    """Error for a file that another program changed since it was read; nothing was written."""


class StoreUnfinished(StoreError):
    """Error for a file whose last write was interrupted; `check` rolls that write back.

    Readers use a copy in which the write is rolled back; this is raised where no copy fits.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"A program was stopped in the middle of a write to {path}. Nothing is lost: "
            "`echoless check STORE` takes that write back. Nothing was changed."
        )
        self.path = path


class PlanError(EcholessError):
    """Error for a plan that cannot be applied."""

    exit_code = 5


class PlanUnreadable(PlanError):
    """Error for a file that is no plan, or whose text does not match its digest."""


class PlanForeign(PlanError):
    """Error for a plan that was made for another store."""


class PlanUsed(PlanError):
    """Error for a plan that was used before; each is used once."""


class PlanRefused(PlanError):
    """Error for a store that did not keep what was written; the run was rolled back."""


class PlanTooLarge(PlanError):
    """Error for a plan that would hide more of a store than was allowed; nothing was written."""


class UndoConflict(EcholessError):
    """Error for a record that was edited since the run, so that undo would lose the edit."""

    exit_code = 6


class MissingExtra(EcholessError):
    """Error for an optional library that is not installed."""

    exit_code = 7

    def __init__(self, what: str, extra: str = "", *, package: str = "") -> None:
        """Makes the message, which names what to install.

        Args:
            what: Subject of the error message ("The encoder 'openai'").
            extra: Name of the optional dependency group; empty for a package of the default
                installation.
            package: That package, which may be missing on a platform that it has no wheel for.
        """
        need = f"the extra \"{extra}\": pip install 'echoless[{extra}]'"
        super().__init__(
            f"{what} needs {need if extra else f'the package {package}: pip install {package}'}"
        )
        self.extra = extra


class DamagedPackage(EcholessError):
    """Error for a file of an installed package that was changed since."""

    exit_code = 7


class EncoderError(EcholessError):
    """Error for an embedding model or its server that failed; nothing was written."""

    exit_code = 8


class VerifierError(EcholessError):
    """Error for a verifier whose model or server failed; nothing was written."""

    exit_code = 8


class ModelError(EcholessError):
    """Error for a language model without a usable answer; nothing was removed because of it."""

    exit_code = 8


class ModelUnavailable(ModelError):
    """Error for a model that cannot answer at all: no server, a wrong key, no such model."""
