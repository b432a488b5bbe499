"""Following a run of transactions event by event, with the states in which the model may be."""
