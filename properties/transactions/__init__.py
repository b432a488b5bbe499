"""This package states what must be true of transactions."""
