"""The modules of this package have the variants of task counts with bounds and reasons; see `catalogue`."""
