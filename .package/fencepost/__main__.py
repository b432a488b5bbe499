"""``python -m fencepost``: the command line."""

import os
import sys

if sys.path[0] == os.getcwd():  # where `python -m` looks first: a module there would stand for one that is installed
    del sys.path[0]

from fencepost.proofs.cli import main

main()
