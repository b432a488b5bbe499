"""What must be true of source offsets, and why it is: `core`, then how they are read."""
