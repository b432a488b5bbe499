"""What must be true of `SourceTask.commit`, and why it is: at least once in `core`, then `exactly_once`."""
