"""From a class to the tree: every method of a protocol is run once, on symbols, and what it does is recorded.

Read `vocabulary` (what a protocol may write), `annotations` and `members` (what it declares), `symbols` and `proxies`
(what stands for values while a method runs), `recording` (what a method did), `parts` and `composing` (protocols
that are made of others), `methods`, `mappings`, `sources`.
"""
