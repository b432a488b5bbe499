"""What must be true of producer id blocks."""
