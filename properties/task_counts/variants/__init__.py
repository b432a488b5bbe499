"""The variants of task counts (KIP-618) that are judged.

What is expected of each, its bounds, and the reason for each bound.
"""
