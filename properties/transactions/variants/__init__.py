"""This package has the variants of transactions with their bounds and reasons; `catalogue` has the entries."""
