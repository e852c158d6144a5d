"""Command-line fronts of the jobs in `echoless.integrations`; no logic."""
