"""Parts of KIP-618 that have a model of their own.

`writing` and `compaction` (the config topic), `deletion`, `connectors` and `collisions` (several connectors, in one
group and in several), `upgrades` (workers without support).
"""
