"""Values in a text: numbers, units, dates, times, versions, identifiers, paths, and plain words.

`tokens.py` holds the types of values, `scanner.py` cuts a text into matches that carry them,
`spelled.py` reads those said in words. Two tokens of one value mean the same; `equivalence.py` says
which values are the same though they are read as two.
"""
