"""Following a run of task counts (KIP-618) event by event, with the states in which the model may be."""
