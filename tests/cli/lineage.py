"""What the lineage of a store says after a command."""

from echoless.stores import open_store


def hidden(store: str) -> dict[str, str]:
    """Returns the survivor of each hidden memory."""
    with open_store(store) as opened:
        return {id_: mark.survivor for id_, mark in opened.ledger.marks().items()}


def kept_apart(store: str) -> set[tuple[str, str]]:
    """Returns the pairs that are recorded as different."""
    with open_store(store) as opened:
        return {pair.ids for pair in opened.ledger.kept()}
