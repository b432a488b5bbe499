"""This package models exactly-once end to end: Connect, transactions, producer ids, source offsets and a group that
copies are its parts."""
