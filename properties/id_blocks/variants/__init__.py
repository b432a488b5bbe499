"""The variants of producer id blocks (KIP-730) that are judged.

What is expected of each, its bounds, and the reason for each bound.
"""
