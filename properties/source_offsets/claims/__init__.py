"""The modules of this package state what must be true of source offsets and why: `core`, then how they are read."""
