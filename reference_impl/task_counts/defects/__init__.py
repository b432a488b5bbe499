"""Implementations of Connect workers with one thing wrong each; `broken` lists them with what they break."""
