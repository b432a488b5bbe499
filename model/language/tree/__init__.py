"""The traced tree: what a protocol is once it has been read.

Read `types` (the sorts and ranges of values), then `terms` (one node of the tree, and how nodes are made).
"""
