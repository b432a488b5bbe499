"""The variants of transactions with their bounds and reasons; `catalogue` has the entries."""
