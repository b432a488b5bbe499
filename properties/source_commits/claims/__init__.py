"""What is claimed of tasks that are told of committed offsets: `promises` says what their authors rely on, and the
others why it is so."""
