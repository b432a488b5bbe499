"""The modules of this package are commands that print what is known already, and judge nothing."""
