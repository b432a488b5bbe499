"""The traced tree is a protocol after it has been read.

`types` describes the sorts and ranges of values, and `terms` the nodes of the tree and how they are made.
"""
