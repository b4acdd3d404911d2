# shellcheck shell=bash
# System packages on Debian, Ubuntu and their kin: installed when we may, else the command is named.

has_apt() {
    command -v apt-get >/dev/null
}

is_root() {
    [[ $(id -u) -eq 0 ]]
}

# apt_command PACKAGE...: what a person would type.
apt_command() {
    local sudo="sudo "
    is_root && sudo=""
    printf '%sapt-get install -y %s' "$sudo" "$*"
}

# apt_install PACKAGE...: true when they are there afterwards; false, having done nothing, when not root.
apt_install() {
    has_apt && is_root || return 1
    say "Installing with apt-get: $*"
    # The package lists of a fresh container are empty and those of an old machine stale: update, once, on need.
    apt_get install --no-install-recommends "$@" && return
    apt_get update && apt_get install --no-install-recommends "$@"
}

apt_get() {
    DEBIAN_FRONTEND=noninteractive apt-get -qq -y "$@" >/dev/null 2>&1
}
