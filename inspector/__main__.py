"""`python -P -m inspector`: the same as the command `mcp-lens`. See `base.safe_path` about `-P`."""

import sys

if __name__ == "__main__":
    from inspector.base.safe_path import refuse_working_directory

    refuse_working_directory("inspector")
    from inspector.cli.main import main

    sys.exit(main())
