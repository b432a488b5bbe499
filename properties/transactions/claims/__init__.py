"""What transactions promise: the promises, the lemmas that prove them, witnesses that they bite, and progress."""
