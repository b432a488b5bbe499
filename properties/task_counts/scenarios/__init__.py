"""The modules of this package drive implementations: `steps` comes first, then the runs themselves, and `agreement`,
which combines them."""
