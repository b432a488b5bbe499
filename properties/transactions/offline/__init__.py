"""Laying out whole histories of transactions in columns, for trace validation."""
