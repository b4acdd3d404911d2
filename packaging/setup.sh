# shellcheck shell=bash
# The set-up that ./packaging/run and ./packaging/test share: source this, then call
#
#     set_up EXTRA                  .venv holds the app with the extra `demo` or `test`, as pinned in uv.lock
#     need_qt_libraries PLATFORM    the system has what Qt needs to draw on xcb, wayland or offscreen
#     want_browser                  there is a browser for the tests, where one can be installed
#
# The first two return only when that is so. What is missing and cannot be put right from here is named on stderr
# in one sentence with its fix, and the script ends with 1.
#
# Kept to bash 3.2, which is what macOS has. There is no `set -e`: each step that can fail says what to do.

set -uo pipefail
unset CDPATH PYTHONHOME PYTHONPATH # a stranger's modules and folders have no say in what is run here

ROOT=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
VENV=$ROOT/.venv

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
    is_sound || make_environment
    install_app "$extra"
    mark "$extra"
}
