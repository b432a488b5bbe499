"""Laying out whole histories of task counts (KIP-618) in columns, for trace validation."""
