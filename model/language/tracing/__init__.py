"""Tracing turns a class into the tree: every method of a protocol is run once, on symbols, and its effects are
recorded.

`vocabulary` has what a protocol may write, and `annotations` and `members` what it declares. `symbols` and `proxies`
stand for values while a method runs, and `recording` collects what a method did. `parts` and `composing` handle
protocols that are composed of others. `methods`, `mappings` and `sources` serve these.
"""
