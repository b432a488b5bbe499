"""What must be true of the whole, and why it is: `abstract`, then over detailed parts."""
