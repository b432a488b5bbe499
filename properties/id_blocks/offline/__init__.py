"""Laying out whole histories of producer id blocks (KIP-730) in columns, for trace validation."""
