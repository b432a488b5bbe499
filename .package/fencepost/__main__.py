"""``python -m fencepost``: the command line."""

from fencepost.proofs.cli import main

main()
