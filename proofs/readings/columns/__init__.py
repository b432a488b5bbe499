"""The NumPy reading of terms: many states of one protocol at once, one row each."""

from fencepost.proofs.readings.columns.reading import Columns, ColumnsError, ColumnStates

__all__ = ["ColumnStates", "Columns", "ColumnsError"]
