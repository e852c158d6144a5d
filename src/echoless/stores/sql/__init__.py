"""Store over one table of a relational database: SQLite, or PostgreSQL through psycopg."""

from echoless.stores.sql.store import PostgresStore, SqlStore

__all__ = ["PostgresStore", "SqlStore"]
