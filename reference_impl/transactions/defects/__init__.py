"""Implementations of transactions with one thing wrong each; `broken` lists them with what they break."""
