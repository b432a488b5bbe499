"""Implementations of producer id blocks with one thing wrong each; `broken` lists them with what they break."""
