"""The variants of transactions that are judged.

What is expected of each, its bounds, and the reason for each bound.
"""
