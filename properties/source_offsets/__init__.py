"""The properties of this package are about exactly-once source tasks (KIP-618): records and source offsets in one
transaction, and where offsets are read."""
