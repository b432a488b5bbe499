"""End to end, as a model: Connect, transactions, producer ids, source offsets and a group that copies, each a part."""
