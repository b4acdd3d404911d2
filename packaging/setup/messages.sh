# shellcheck shell=bash
# Messages of the set-up go to stderr, so that stdout contains only the output of the app.

say() {
    printf 'mcp-lens: %s\n' "$*" >&2
}

fail() {
    say "$*"
    exit 1
}
