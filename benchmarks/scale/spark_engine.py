"""The relational steps on PySpark, for comparison only: echoless does not ship this engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession


class SparkEngine:
    """The steps on Spark in local mode."""

    name = "spark"

    def __init__(self, folder: Path, *, threads: int = 2, memory: str = "4g") -> None:
        """Starts a session.

        Args:
            folder: Takes what Spark spills.
            threads: Of the session.
            memory: Of its Java process.
        """
        session = SparkSession.builder.master(f"local[{threads}]")
        session = session.config("spark.driver.memory", memory)
        session = session.config("spark.local.dir", str(folder / "spark"))
        session = session.config("spark.ui.enabled", "false")
        session = session.config("spark.sql.shuffle.partitions", "16")
        session = session.config("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
        self._spark: Any = session.getOrCreate()
        self._spark.sparkContext.setLogLevel("ERROR")

    def place_clues(self, clues: Path, into: Path, block: int) -> None:
        self._see("clues", clues)
        frame = self._spark.sql(
            f"SELECT row DIV {block} AS block, row, value, "
            "count(*) OVER (PARTITION BY value) AS held, "
            "row_number() OVER (PARTITION BY value ORDER BY row) - 1L AS place FROM clues"
        )
        frame = frame.withColumn("place", frame.place.cast("long"))
        frame.write.partitionBy("block").parquet(str(into))

    def shared_postings(self, needs: Path, postings: Path, into: Path) -> None:
        self._see("needs", needs)
        self._see("postings", postings)
        self._spark.sql(
            "SELECT n.term, q.place, q.row, q.share "
            "FROM postings q JOIN needs n ON q.value = n.value AND q.place < n.take"
        ).write.parquet(str(into))

    def _see(self, name: str, folder: Path) -> None:
        frame = self._spark.read.option("recursiveFileLookup", "true").parquet(str(folder))
        frame.createOrReplaceTempView(name)
