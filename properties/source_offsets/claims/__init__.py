"""The modules of this package state what must be true of source offsets and why it is. `core` comes first, then how
offsets are read."""
