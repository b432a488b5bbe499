"""This package drives implementations: `steps` and `shared` first, then the runs themselves, what is watched meanwhile
(`monitoring`), and `agreement`, which combines all of it."""
