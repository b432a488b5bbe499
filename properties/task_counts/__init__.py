"""The properties of this package state what must be true of who may run as a source task (KIP-618)."""
