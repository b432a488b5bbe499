"""The properties of this package state what must be true of group-aware fencing (KIP-447), and of which of its forms it
is true."""
