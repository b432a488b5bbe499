"""The whole in the catalogue."""
