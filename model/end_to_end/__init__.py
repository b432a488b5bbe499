"""This package models Connect, transactions, producer ids, source offsets and a copying group end to end."""
