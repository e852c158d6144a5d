"""Values in a text: numbers, units, dates, times, versions, identifiers, paths, and plain words.

`tokens.py` cuts a text into typed tokens; two tokens with one key mean the same. `equivalence.py`
says which values are the same though their keys differ.
"""
