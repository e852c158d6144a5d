"""Tests of the store kinds of databases and libraries."""
