"""Runs one deduplication over many processes or machines, with the plan of a single process.

A job is a store, settings and a list of partitions: namespaces that are looked at together. Each
partition goes through the stages of `find`, and ends in a plan file and a report that can be added
up (`partition_worker.py`). An engine only decides where that happens: processes of this machine
(`local.py`), or workers on any machines that claim partitions from a table in Postgres
(`postgres_engine.py`). `job_run.py` repeats what was lost and records what always fails.

Memories of two namespaces never meet, so the plans of all partitions together are the plan of one
process (ADR 0025).
"""
