"""A connection to DuckDB, of one thread, for each file of comparisons."""

import duckdb
import pytest


@pytest.fixture(scope="module")
def duck() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    return connection
