# shellcheck shell=bash
# The browser that the login tests drive. Nothing else needs it, so a missing one is not an error.

# The names that tests/helpers/browser.py looks for. The first is a Debian package; on Ubuntu it only installs
# a snap, which we do not want to do unasked.
readonly BROWSER_NAMES=(chromium chromium-browser google-chrome google-chrome-stable)

# want_browser: install a browser if possible. Tried once per set-up; failing is not an error.
want_browser() {
    local seen=$VENV/mcp-lens-browser
    has_browser && return
    [[ $seen -nt $STAMP ]] && return
    apt_install chromium || say "$(browser_hint)"
    : >"$seen"
}

has_browser() {
    command -v "${BROWSER_NAMES[@]}" >/dev/null
}

browser_hint() {
    local get="install Chromium"
    has_apt && get="install one with: $(apt_command chromium)"
    printf 'No browser found, so the login tests that need one are skipped. To run them, %s' "$get"
}
