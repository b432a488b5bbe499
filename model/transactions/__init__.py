"""Transactions: how records, offsets and their fate are kept together."""
