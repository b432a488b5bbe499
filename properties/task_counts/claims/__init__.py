"""What must be true of task counts, and why it is: `core`, then what it leaves out, a file each."""
