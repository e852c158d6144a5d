"""What a terminal shows of the quickstart, as files to read.

`80-coloured.txt`, `120-coloured.txt`, `80-plain.txt` and `120-plain.txt` hold the output of every
command of docs/quickstart.md, and of some more, on a pseudo-terminal of so many columns. The escape
sequences of a terminal begin with `␛`. Ids, runs and times that change are replaced by fixed ones.

`python -m tests.cli.golden` writes the output of today into the files.
"""
