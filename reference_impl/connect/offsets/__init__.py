"""This package implements the source offsets of KIP-618: records and source offsets in one transaction, and the topics
from which offsets are read.

Read `runtime` and `instances` first: a task at work, and its start and end. Then read `stores`, which combines the two
offsets topics. `kafka` is the cluster below; `environment` and `config` are what all of them share.
"""
