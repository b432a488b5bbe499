"""The modules of this package help users to write protocols of their own."""
