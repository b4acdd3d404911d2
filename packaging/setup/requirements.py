"""Print the packages that one extra needs here, with versions and hashes from uv.lock, for pip.

    python requirements.py uv.lock EXTRA [windows]

With `windows`, the packages that it needs in CPython 3.12 on Windows.

uv.lock is the one place where versions are pinned. The output includes the build backend, and goes to
`pip install --no-deps --require-hashes`. Runs before anything is installed: only the standard library and
pip, whose `packaging` evaluates the markers.
"""

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pip._vendor.packaging.markers import Marker

Package = dict[str, Any]
Environment = dict[str, str]
PROJECT = "mcp-lens"
BUILD_GROUP = "build"
WINDOWS: Environment = {
    "os_name": "nt",
    "platform_machine": "AMD64",
    "platform_system": "Windows",
    "python_full_version": "3.12.9",
    "python_version": "3.12",
    "sys_platform": "win32",
}


def requirements(lock: str, extra: str, environment: Environment) -> Iterator[str]:
    """Yield a requirement line per package, sorted by name; `environment` replaces values of markers."""
    packages = tomllib.loads(lock)["package"]
    for package in sorted(_closure(packages, extra, environment), key=lambda each: str(each["name"])):
        files = [*package.get("wheels", []), *([package["sdist"]] if "sdist" in package else [])]
        hashes = " ".join(f"--hash={file['hash']}" for file in files)
        yield f"{package['name']}=={package['version']} {hashes}"


def _closure(packages: list[Package], extra: str, environment: Environment) -> list[Package]:
    """Return the packages that the project, the extra and the build backend need in the environment."""
    (project,) = (each for each in packages if each["name"] == PROJECT)
    found: dict[tuple[str, str], Package] = {}
    seen: set[tuple[str, str, str]] = set()
    waiting = [(project, ""), (project, extra)]
    for dependency in project["dev-dependencies"][BUILD_GROUP]:
        waiting += _wanted(packages, dependency, environment)
    while waiting:
        package, its_extra = waiting.pop()
        key = (package["name"], package["version"] if package is not project else "", its_extra)
        if key in seen:
            continue
        seen.add(key)
        if package is not project:
            found[key[:2]] = package
        for dependency in _dependencies(package, its_extra):
            waiting += _wanted(packages, dependency, environment)
    return list(found.values())


def _dependencies(package: Package, extra: str) -> list[Package]:
    if extra:
        return list(package.get("optional-dependencies", {}).get(extra, []))
    return list(package.get("dependencies", []))


def _wanted(
    packages: list[Package], dependency: Package, environment: Environment
) -> Iterator[tuple[Package, str]]:
    """Yield the package that a dependency means there, once for itself and once per extra."""
    if not _applies([dependency["marker"]] if "marker" in dependency else [], environment):
        return
    for package in packages:
        if package["name"] != dependency["name"]:
            continue
        if dependency.get("version", package.get("version")) != package.get("version"):
            continue
        if not _applies(package.get("resolution-markers", []), environment):
            continue
        yield package, ""
        for extra in dependency.get("extra", []):
            yield package, extra


def _applies(markers: list[str], environment: Environment) -> bool:
    return not markers or any(Marker(marker).evaluate(dict(environment)) for marker in markers)


if __name__ == "__main__":
    lock, extra, *system = sys.argv[1:]
    for line in requirements(Path(lock).read_text("utf-8"), extra, WINDOWS if system == ["windows"] else {}):
        print(line)
