"""Following a run of producer id blocks (KIP-730) event by event, with the states in which the model may be."""
