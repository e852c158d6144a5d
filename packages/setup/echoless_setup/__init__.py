"""The commands `echoless setup`, a memory for the agents of a machine, and `echoless git`."""

from typing import Final

FAMILIES: Final = {
    "Agents": {
        "setup": ("echoless_setup.command", "Give the agents on this machine a memory; undoable."),
        "git": ("echoless_setup.git", "Merge memory files claim by claim in Git; undoable."),
    },
}
"""The entry point of the group `echoless.commands`; what it names is imported when it is called."""
