"""The properties of this package state what must be true of transactions that an outside coordinator decides
(KIP-939)."""
