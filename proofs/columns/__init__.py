"""The NumPy reading of terms: many states of one protocol at once, one row each."""

from .reading import Columns, ColumnsError, ColumnStates

__all__ = ["ColumnStates", "Columns", "ColumnsError"]
