"""Implementations with one thing wrong each; `broken.py` lists them."""
