"""Runs a script of the tests as a program, with every folder named ``support`` to import from, as under pytest:

python tests/script.py tests/live/kafka/corners/corners_page.py reference_impl/kafka/KAFKA.md
"""

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    if len(sys.argv) < 2 or not Path(sys.argv[1]).is_file():
        sys.exit("name a script of the tests: python tests/script.py tests/…/name.py ARGUMENTS")
    sys.path += map(str, sorted(Path(__file__).parent.rglob("support")))
    del sys.argv[0]
    sys.path.insert(0, str(Path(sys.argv[0]).parent))
    runpy.run_path(sys.argv[0], run_name="__main__")
