"""Some parts of KIP-618 have a model of their own.

`writing` and `compaction` model the config topic, `deletion` a deleted connector, `connectors` and `collisions` several
connectors in one group and in several groups, and `upgrades` workers without support.
"""
