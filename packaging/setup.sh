# shellcheck shell=bash
# The set-up that ./packaging/run and ./packaging/test share: source this, then call
#
#     set_up EXTRA                  .venv holds the app with the extra `demo` or `test`, as pinned in uv.lock
#     need_qt_libraries PLATFORM    the system has the libraries that Qt needs for xcb, wayland or offscreen
#     want_qt_libraries PLATFORM    the same, where possible
#     want_browser                  a browser for the tests is installed, where possible
#
# MCP_LENS_VENV names another folder for the environment, so that one tree can have several, one per Python.
#
# The first two return only on success. If something is missing and cannot be installed, they print one
# sentence with the fix to stderr and exit with 1.
#
# Limited to bash 3.2, the version on macOS. No `set -e`: each step that can fail reports what to do.

set -uo pipefail
unset CDPATH PYTHONHOME PYTHONPATH # these would load modules from other folders
unset PYTHONDONTWRITEBYTECODE # every process would compile all modules again

ROOT=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
VENV=${MCP_LENS_VENV:-$ROOT/.venv}

# shellcheck source=packaging/setup/messages.sh
source "$ROOT/packaging/setup/messages.sh"
# shellcheck source=packaging/setup/apt.sh
source "$ROOT/packaging/setup/apt.sh"
# shellcheck source=packaging/setup/python.sh
source "$ROOT/packaging/setup/python.sh"
# shellcheck source=packaging/setup/environment.sh
source "$ROOT/packaging/setup/environment.sh"
# shellcheck source=packaging/setup/install.sh
source "$ROOT/packaging/setup/install.sh"
# shellcheck source=packaging/setup/libraries.sh
source "$ROOT/packaging/setup/libraries.sh"
# shellcheck source=packaging/setup/browser.sh
source "$ROOT/packaging/setup/browser.sh"

trap 'say "Stopped."; exit 130' INT TERM

set_up() {
    local extra=$1
    is_ready "$extra" && return
    is_usable || make_environment
    install_app "$extra"
    mark "$extra"
}
