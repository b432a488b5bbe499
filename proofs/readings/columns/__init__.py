"""This package is the NumPy reading of terms, which handles many states of one protocol at once, one row each."""

from fencepost.proofs.readings.columns.reading import Columns, ColumnsError, ColumnStates

__all__ = ["ColumnStates", "Columns", "ColumnsError"]
