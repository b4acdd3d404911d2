"""Print the versions in a uv.lock file as constraints for pip: `python pins.py uv.lock`.

uv.lock is the one place where versions are pinned; this lets an installation by pip keep to them too.
Standard library only, because it runs before anything is installed.
"""

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path


def pins(lock: str) -> Iterator[str]:
    """One `name==version` line per package that comes from an index; the project itself does not.

    A package locked at several versions has markers that say where each one holds.
    """
    for package in tomllib.loads(lock)["package"]:
        if "registry" not in package["source"]:
            continue
        markers = " or ".join(f"({marker})" for marker in package.get("resolution-markers", []))
        yield f"{package['name']}=={package['version']}" + (f" ; {markers}" if markers else "")


if __name__ == "__main__":
    for line in pins(Path(sys.argv[1]).read_text("utf-8")):
        print(line)
