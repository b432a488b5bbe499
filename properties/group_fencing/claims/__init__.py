"""What must be true of group fencing, and why it is: `core`, then what ships."""
