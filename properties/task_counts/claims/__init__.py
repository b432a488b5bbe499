"""The modules of this package state what must be true of task counts and why it is. `core` comes first, and one file
each covers what the core leaves out."""
