"""The modules of this package state what must be true of group fencing and why it is. `core` comes first, then what
ships."""
