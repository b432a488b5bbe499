"""The properties of this package state what must be true of producer id blocks."""
