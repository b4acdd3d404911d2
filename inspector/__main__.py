"""`python -m inspector`: the same as the command `mcp-lens`."""

import sys

import inspector.base.safe_path  # noqa: F401 - before all that could be shadowed
from inspector.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
