"""PATH of the servers: composition, usual folders of programs, and the registry of Windows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from inspector.base import search_path as search_path_module
from inspector.base.search_path import (
    SearchPath,
    custom_path,
    extend_from_registry,
    extended_path,
    folders_in,
    install_patterns,
    installed_folders,
    is_path_list,
    path_source,
    path_variable,
    registry_path,
    search_path,
    server_environment,
    use_search_path,
    with_folders,
)


@pytest.fixture(autouse=True)
def _as_started() -> Iterator[None]:
    yield
    use_search_path(None)


def test_new_folders_are_appended_in_their_order_without_duplicates() -> None:
    path, added = with_folders("/usr/bin:/bin", ["/n/bin", "/bin/", "/m/bin", "/n/bin"], is_windows=False)
    assert path == "/usr/bin:/bin:/n/bin:/m/bin"
    assert added == ("/n/bin", "/m/bin")


def test_windows_folders_are_compared_without_case() -> None:
    path, added = with_folders(
        r"C:\Windows;C:\Tools", [r"c:\windows\\", r"D:\node", "c:/tools"], is_windows=True
    )
    assert path == r"C:\Windows;C:\Tools;D:\node"
    assert added == (r"D:\node",)


def test_an_empty_path_gets_no_empty_folder() -> None:
    assert with_folders("", ["/n"], is_windows=False)[0] == "/n"


@pytest.mark.parametrize(
    ("path", "is_windows", "folders"),
    [
        ("/a:.::b:/c", False, ["/a", "/c"]),
        (r'"C:\a b";\c;d;C:e; D:\f', True, [r"C:\a b", r"D:\f"]),
    ],
)
def test_folders_that_depend_on_the_current_directory_are_left_out(
    path: str, is_windows: bool, folders: list[str]
) -> None:
    assert folders_in(path, is_windows=is_windows) == folders


@pytest.mark.skipif(os.name != "posix", reason="a PATH of POSIX")
def test_custom_path_refers_to_the_home_folder_and_the_path_at_the_start() -> None:
    path = custom_path("~/bin:/opt/x:${PATH}", "/usr/bin:/bin", "/home/me")
    assert path.value == "/home/me/bin:/opt/x:/usr/bin:/bin"
    assert not path.is_extensible


@pytest.mark.parametrize(
    ("text", "is_valid"),
    [("${PATH}", True), ("~/bin", True), ("", False), ("bin", False), (f"{os.sep}a\n", False)],
)
def test_custom_path_needs_an_absolute_folder(text: str, is_valid: bool) -> None:
    assert is_path_list(text) is is_valid


def test_servers_inherit_the_path_and_mcp_lens_keeps_its_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/start")
    assert search_path() == SearchPath("/start", "as MCP Lens was started")
    use_search_path(SearchPath("/start:/n", "test"))
    assert server_environment()["PATH"] == "/start:/n"
    assert os.environ["PATH"] == "/start"


def test_source_says_whether_the_server_has_its_path() -> None:
    use_search_path(SearchPath("/n", "from the test"))
    assert path_source({}) == "from the test"
    assert path_source({"PATH": "/x"}) == "set for this server"
    assert path_source({"PATH": "/x:${PATH}"}) == "set for this server, then from the test"
    assert path_source({"PATH": "/x:${env:PATH}"}) == "set for this server, then from the test"


def test_path_variable_has_any_case_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    assert path_variable(["A"]) == "PATH"
    monkeypatch.setattr(search_path_module, "IS_WINDOWS", True)
    assert path_variable(["A", "Path"]) == "Path"


@pytest.mark.skipif(os.name != "posix", reason="folders of POSIX")
def test_newest_version_is_the_first_or_the_only_one(tmp_path: Path) -> None:
    versions = tmp_path / ".nvm/versions/node"
    for name in ("v9.11.2", "v20.11.1", "v18.0.0"):
        (versions / name / "bin").mkdir(parents=True)
    (tmp_path / ".local").mkdir()
    (tmp_path / ".local/bin").touch()  # not a folder
    environment = {"HOME": str(tmp_path)}
    found = [folder for folder in installed_folders(environment) if folder.startswith(str(tmp_path))]
    assert found == [str(versions / name / "bin") for name in ("v20.11.1", "v18.0.0", "v9.11.2")]
    newest = installed_folders(environment, newest_only=True)
    assert [folder for folder in newest if folder.startswith(str(tmp_path))] == found[:1]


@pytest.mark.parametrize(
    "folder",
    [
        *("~/.nvm/versions/node/*/bin", "~/.local/share/fnm/aliases/default/bin", "~/.volta/bin"),
        *("~/.local/share/mise/shims", "~/.asdf/shims", "~/.pyenv/shims", "~/.nodenv/shims"),
        *("/opt/homebrew/bin", "/opt/local/bin", "~/.local/bin", "~/.cargo/bin", "~/.bun/bin", "~/.deno/bin"),
    ],
)
def test_posix_folders_of_version_managers_are_known(folder: str) -> None:
    patterns = list(install_patterns({"HOME": "/home/me"}, is_windows=False))
    assert folder.replace("~", "/home/me") in patterns


@pytest.mark.parametrize(
    "folder",
    [
        *(r"C:\Users\me\AppData\Roaming\npm", r"C:\Program Files\nodejs", r"C:\Users\me\scoop\shims"),
        *(r"C:\Users\me\AppData\Local\Volta\bin", r"C:\nvm4w\nodejs", r"D:\links\nodejs"),
        *(r"C:\Users\me\AppData\Roaming\nvm\v*", r"C:\Users\me\.local\bin", r"C:\Users\me\.cargo\bin"),
        r"C:\Users\me\AppData\Roaming\fnm\aliases\default",
    ],
)
def test_windows_folders_of_version_managers_are_known(folder: str) -> None:
    environment = {
        "APPDATA": r"C:\Users\me\AppData\Roaming",
        "LOCALAPPDATA": r"C:\Users\me\AppData\Local",
        "ProgramFiles": r"C:\Program Files",
        "USERPROFILE": r"C:\Users\me",
        "SystemDrive": "C:",
        "NVM_SYMLINK": r"D:\links\nodejs",
    }
    patterns = list(install_patterns(environment, is_windows=True))
    assert folder in patterns
    assert not [pattern for pattern in patterns if "%" in pattern or "/" in pattern]


def test_brackets_in_the_home_folder_are_no_pattern() -> None:
    assert "/home/[[]me]/.cargo/bin" in install_patterns({"HOME": "/home/[me]"}, is_windows=False)


SYSTEM = {"Path": r"%SystemRoot%\system32;%NVM_SYMLINK%", "NVM_SYMLINK": r"C:\nvm4w\nodejs"}
USER = {"PATH": r"%USERPROFILE%\bin;%UNKNOWN%\bin;%HOMEDIR%\more", "HOMEDIR": "%USERPROFILE%"}


def test_registry_path_is_that_of_the_system_then_of_the_user_with_new_variables() -> None:
    environment = {"SYSTEMROOT": r"C:\Windows", "USERPROFILE": r"C:\Users\me"}
    assert registry_path(SYSTEM, USER, environment).split(";") == [
        *(r"C:\Windows\system32", r"C:\nvm4w\nodejs", r"C:\Users\me\bin", r"%UNKNOWN%\bin"),
        r"C:\Users\me\more",
    ]


def test_folders_added_to_the_registry_since_the_start_are_appended() -> None:
    path = SearchPath(r"C:\Windows\system32")
    extended = extended_path(path, r"c:\windows\system32;C:\nvm4w\nodejs;%X%\bin", is_windows=True)
    assert extended == SearchPath(
        r"C:\Windows\system32;C:\nvm4w\nodejs", "as MCP Lens was started, and 1 folder added since"
    )
    assert extended_path(extended, r"C:\nvm4w\nodejs", is_windows=True) is None
    fixed = SearchPath("", is_extensible=False)
    assert extended_path(fixed, r"C:\nvm4w\nodejs", is_windows=True) is None


def test_path_is_extended_from_the_registry_on_windows_only(monkeypatch: pytest.MonkeyPatch) -> None:
    new = os.path.abspath(os.sep + "new")
    monkeypatch.setattr(search_path_module, "_registry_variables", lambda: ({"Path": new}, {}))
    monkeypatch.setattr(search_path_module, "IS_WINDOWS", False)
    assert not extend_from_registry()
    monkeypatch.setattr(search_path_module, "IS_WINDOWS", True)
    assert extend_from_registry()
    assert new in search_path().value
    assert not extend_from_registry(), "nothing is new"
