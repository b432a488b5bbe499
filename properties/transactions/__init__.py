"""What must be true of transactions."""
