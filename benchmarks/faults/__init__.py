"""Faults at every file call: what a failing disk, a kill and a loss of power leave of a store.

`python -m benchmarks.faults` runs commands of echoless on every kind of store. A layer below the
process (`shim.c`) fails or kills each of its file calls in turn, those inside SQLite, LanceDB,
Chroma and shodh-memory too. After each, `check` must leave a sound store, no memory may be missing,
and undo must give back exactly what was there.
"""
