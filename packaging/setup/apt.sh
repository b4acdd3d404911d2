# shellcheck shell=bash
# System packages on Debian, Ubuntu and derivatives: installed if we are root, else the command is printed.

has_apt() {
    command -v apt-get >/dev/null
}

is_root() {
    [[ $(id -u) -eq 0 ]]
}

# apt_command PACKAGE...: the command to type.
apt_command() {
    local sudo="sudo "
    is_root && sudo=""
    printf '%sapt-get install -y %s' "$sudo" "$*"
}

# apt_install PACKAGE...: true if they are installed afterwards; does nothing and returns false if not root.
apt_install() {
    has_apt && is_root || return 1
    say "Installing with apt-get: $*"
    # The package lists may be missing (new container) or outdated: update them only if the install fails.
    apt_get install --no-install-recommends "$@" && return
    apt_get update && apt_get install --no-install-recommends "$@"
}

apt_get() {
    DEBIAN_FRONTEND=noninteractive apt-get -qq -y "$@" >/dev/null 2>&1
}
