"""The properties of this package state what must be true of each form of group-aware fencing (KIP-447)."""
