"""The variants of source commits that are judged: what is expected of each, its bounds, and their reasons."""
