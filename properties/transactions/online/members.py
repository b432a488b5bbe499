"""Members of the model's enumerations, as a state has them: numbers."""

IDLE, ONGOING, PREPARED = range(3)  # Phase
NO_OUTCOME, COMMIT, ABORT = range(3)  # Outcome
ABSENT, OPEN, COMMITTED, ABORTED = range(4)  # Fate
NOTHING, INIT, ADD, END, FENCE = range(5)  # Pending
