# shellcheck shell=bash
# How the set-up talks: to stderr, under the app's name, so that stdout belongs to the app alone.

say() {
    printf 'mcp-lens: %s\n' "$*" >&2
}

fail() {
    say "$*"
    exit 1
}
