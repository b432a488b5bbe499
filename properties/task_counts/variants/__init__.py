"""The modules of this package have the variants of task counts with their bounds and reasons. `catalogue` has the
entries."""
