"""The modules of this package state what must hold of the events of task counts. `view` comes first, then the
properties."""
