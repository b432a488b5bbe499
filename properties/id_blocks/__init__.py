"""These properties state what must be true of producer id blocks."""
