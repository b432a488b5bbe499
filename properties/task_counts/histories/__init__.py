"""The modules of this package state what must hold of the events of task counts: `view`, then properties."""
