"""Store over one table of a relational database: SQLite, or PostgreSQL through psycopg."""

from echoless_stores.sql.kinds import PostgresStore, SqlStore
from echoless_stores.sql.store import TableStore

__all__ = ["PostgresStore", "SqlStore", "TableStore"]
