"""`python -m inspector`: the same as the command `mcp-lens`."""

from __future__ import annotations

import sys

from inspector.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
