"""`python -m tests.lab.guidance [--seed N | --seeds A-B] [--json]`."""

import sys

from tests.lab.guidance.evaluate import main

sys.exit(main(sys.argv[1:]))
