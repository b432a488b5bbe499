"""Implementations with one thing wrong each, declared where they are written; `broken.py` has them by name."""
