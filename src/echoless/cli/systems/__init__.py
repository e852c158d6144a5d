"""Command-line fronts of the jobs in `echoless.systems`; no logic."""
