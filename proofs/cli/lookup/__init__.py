"""The modules of this package are commands that print what is known already, or write what a user begins with, and
judge nothing."""
