# shellcheck shell=bash
# The browser that the tests of the login drive. Nothing else needs it, so nothing ends for want of it.

# The names that tests/helpers/browser.py looks for. A Debian package has the first one; Ubuntu has only a
# stub that fetches a snap, which is not ours to bring onto a machine.
readonly BROWSER_NAMES=(chromium chromium-browser google-chrome google-chrome-stable)

# want_browser: install one where that can be. Tried once for each set-up, and never a reason to stop.
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
    printf 'There is no browser for the tests of the login, and they are skipped; to run them, %s' "$get"
}
