# shellcheck shell=bash
# The system libraries that the PySide6 wheels do not contain, and a font.

# need_qt_libraries PLATFORM: exit with the fix if Qt cannot load this platform plugin.
need_qt_libraries() {
    local missing
    missing=$(install_qt_libraries "$1")
    [[ -z $missing ]] || fail "$(libraries_fix "$missing")"
    need_font
}

# want_qt_libraries PLATFORM: like need_qt_libraries, but missing libraries are not an error.
want_qt_libraries() {
    local missing
    missing=$(install_qt_libraries "$1")
    [[ -z $missing ]] || say "Tests that need the platform plugin $1 are skipped. $(libraries_fix "$missing")"
}

# install_qt_libraries PLATFORM: install what is missing, if possible; prints the sonames still missing.
install_qt_libraries() {
    [[ $OSTYPE == linux* ]] && command -v ldd >/dev/null || return 0
    local seen=$VENV/mcp-lens-libraries-$1 missing
    [[ $seen -nt $STAMP ]] && return
    missing=$(missing_libraries "$1")
    if [[ -n $missing ]]; then
        # shellcheck disable=SC2046  # split into packages
        apt_install $(debian_packages <<<"$missing") && missing=$(missing_libraries "$1")
    fi
    [[ -z $missing ]] && : >"$seen"
    printf '%s' "$missing"
}

# missing_libraries PLATFORM: one soname per line, reported by the dynamic linker.
missing_libraries() {
    local qt
    for qt in "$VENV"/lib/python3.*/site-packages/PySide6; do
        ldd "$qt/QtWidgets.abi3.so" "$qt/Qt/plugins/platforms/libq$1.so" 2>/dev/null
    done | awk '/=> not found/ { print $1 }' | sort -u
}

# debian_packages: sonames in, package names out. Debian Policy 8.1 forms the one from the other, with a
# hyphen where the name ends in a digit: libX11.so.6 is in libx11-6. GLib and zlib are older than the rule.
debian_packages() {
    sed -E \
        -e 's/^libg(lib|thread|object|io)-2\.0\.so\.0$/libglib2.0-0/; t' \
        -e 's/^libz\.so\.1$/zlib1g/; t' \
        -e 's/([0-9])\.so\.([0-9]+)$/\1-\2/' \
        -e 's/\.so\.([0-9]+)$/\1/' |
        tr '[:upper:]' '[:lower:]' | sort -u | tr '\n' ' '
}

libraries_fix() {
    local sonames=${1//$'\n'/, } packages
    packages=$(debian_packages <<<"$1")
    if has_apt; then
        printf 'Qt needs system libraries that are missing; install them with: %s' "$(apt_command "${packages% }")"
    else
        printf 'Qt needs system libraries that are missing (%s); install the packages that contain them, %s' \
            "$sonames" "and run this again."
    fi
}

# Without any font Qt draws empty boxes: a warning, not an error.
need_font() {
    local folders=(/usr/share/fonts /usr/local/share/fonts ~/.fonts ~/.local/share/fonts)
    [[ -n $(find -L "${folders[@]}" -name '*.[to]t[fc]' -print -quit 2>/dev/null) ]] && return
    apt_install fonts-dejavu-core && return
    say "No font found, so no text will be visible. Install one, for example with: $(apt_command fonts-dejavu-core)"
}
