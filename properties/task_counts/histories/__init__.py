"""What must hold of the events of task counts: `view`, then the properties."""
