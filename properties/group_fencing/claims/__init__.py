"""The modules of this package state what must be true of group fencing and why: `core`, then what ships."""
