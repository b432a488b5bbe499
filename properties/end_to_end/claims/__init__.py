"""What the whole promises, and why it keeps it."""
