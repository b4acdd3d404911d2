# shellcheck shell=bash
# A Windows Python under Wine, for ./packaging/test-windows: source setup.sh and this, then call
#
#     set_up_wine                 $WINE holds a Wine prefix with Python and the packages for 'test' from uv.lock
#     windows_python ARGUMENT...  run that Python; the exit code is its exit code
#
# Like set_up, set_up_wine returns only on success, and prints one sentence if it cannot succeed.

WINE=${MCP_LENS_WINE:-$ROOT/.wine}
WINE_STAMP=$WINE/mcp-lens-setup

readonly WINE_COMMANDS=(wine wineboot wineserver x86_64-w64-mingw32-gcc)
readonly WINE_PACKAGES=(wine wine64 gcc-mingw-w64-x86-64)

# Errors of Wine itself are not of interest. The overrides: no .NET, no HTML, no menu entries on the host's desktop.
export WINEPREFIX=$WINE/prefix WINEDEBUG=-all
export WINEDLLOVERRIDES="mscoree=;mshtml=;winemenubuilder.exe="

readonly WINDOWS_PYTHON=$WINEPREFIX/drive_c/python
readonly WINDOWS_PACKAGES=$WINDOWS_PYTHON/Lib/site-packages

set_up_wine() {
    need_wine
    [[ -r $WINE_STAMP && $(<"$WINE_STAMP") == "$(wine_stamp)" ]] && return
    say "Setting up a Windows Python under Wine in $WINE; this takes two to four minutes."
    make_prefix
    share_drives
    install_windows_python
    install_windows_packages
    compile_missing_libraries
    wine_stamp >"$WINE_STAMP"
}

# The folder is included because the Windows Python knows the project by its path.
wine_stamp() {
    printf '%s\n' "$ROOT"
    (cd -- "$ROOT" && cksum uv.lock packaging/setup/requirements.py packaging/setup/wine.sh packaging/setup/wine/*)
}

need_wine() {
    [[ $OSTYPE == linux* && $HOSTTYPE == x86_64 ]] ||
        fail "The Windows tests run under Wine on Linux (x86_64); on Windows, run: python -m pytest tests/windows"
    has_commands "${WINE_COMMANDS[@]}" && return
    apt_install "${WINE_PACKAGES[@]}" && has_commands "${WINE_COMMANDS[@]}" && return
    if has_apt; then
        fail "The Windows tests need Wine and MinGW; install them with: $(apt_command "${WINE_PACKAGES[@]}")"
    fi
    local names=${WINE_COMMANDS[*]}
    fail "The Windows tests need Wine and MinGW (${names// /, }); install your system's packages for them," \
        "and run this again."
}

has_commands() {
    local name
    for name in "$@"; do
        command -v "$name" >/dev/null || return
    done
}

# A prefix without a stamp is not ours. An interrupted set-up leaves one, which then starts over.
make_prefix() {
    local log=$WINE/wineboot.log
    [[ -e $WINE_STAMP || ! -e $WINEPREFIX ]] ||
        fail "$WINEPREFIX is in use; set MCP_LENS_WINE to another folder, and run this again."
    { mkdir -p -- "$WINE" && : >"$WINE_STAMP" && rm -rf -- "$WINEPREFIX"; } 2>/dev/null ||
        fail "Could not write to $WINE; set MCP_LENS_WINE to another folder, and run this again."
    { wineboot --init && wineserver --wait; } >"$log" 2>&1 </dev/null ||
        fail "Could not create the Wine prefix $WINEPREFIX; Wine's output: $log"
}

# Wine looks for \\localhost\c$ here. Windows has these shares; without them, no test could open a UNC path.
share_drives() {
    local shares=$WINEPREFIX/dosdevices/unc/localhost
    { mkdir -p -- "$shares" && ln -sfn ../../../drive_c "$shares/c\$" && ln -sfn / "$shares/z\$"; } 2>/dev/null ||
        fail "Could not write to $WINE; set MCP_LENS_WINE to another folder, and run this again."
}

# `._pth` is the module search path of the embeddable package, which does not read PYTHONPATH.
install_windows_python() {
    local output line
    output=$("$VENV/bin/python" -I "$ROOT/packaging/setup/wine/python.py" "$WINDOWS_PYTHON" 2>&1) ||
        fail "Could not download a Windows Python: ${output##*$'\n'}. Check the network and the settings of pip," \
            "and run this again."
    for line in python312.zip . 'Lib\site-packages' 'Lib\site-packages\win32' 'Lib\site-packages\win32\lib' \
        "Z:${ROOT//\//\\}" 'import site'; do
        printf '%s\r\n' "$line"
    done >"$WINDOWS_PYTHON/python312._pth"
}

# Versions and hashes from uv.lock, as for .venv; the markers are those of the Windows Python.
install_windows_packages() {
    local log=$WINE/pip.log requirements=$WINE/requirements.txt
    "$VENV/bin/python" -I "$ROOT/packaging/setup/requirements.py" "$ROOT/uv.lock" test windows >"$requirements" ||
        fail "Could not read uv.lock; restore it with: git checkout uv.lock"
    PIP_RETRIES=${PIP_RETRIES:-2} quiet_pip --no-deps --require-hashes --only-binary :all: --no-compile \
        --platform win_amd64 --python-version 3.12 --implementation cp --target "$WINDOWS_PACKAGES" \
        --requirement "$requirements" >"$log" 2>&1 ||
        fail "Could not install the Windows packages: $(pip_cause "$log") pip's log: $log"
    copy_font
}

# Qt's offscreen platform on Windows looks for fonts beside its libraries. Without one, Qt warns.
copy_font() {
    local fonts=$WINDOWS_PACKAGES/PySide6/lib/fonts font
    need_font
    font=$(find -L /usr/share/fonts /usr/local/share/fonts -name 'DejaVuSans.ttf' -print -quit 2>/dev/null)
    [[ -n $font ]] || font=$(find -L /usr/share/fonts /usr/local/share/fonts -name '*.ttf' -print -quit 2>/dev/null)
    { mkdir -p -- "$fonts" && cp -- "$font" "$fonts"; } 2>/dev/null || true
}

compile_missing_libraries() {
    local name log=$WINE/gcc.log
    for name in bcryptprimitives icuuc; do
        x86_64-w64-mingw32-gcc -shared -O2 -o "$WINEPREFIX/drive_c/windows/system32/$name.dll" \
            "$ROOT/packaging/setup/wine/$name.c" -ladvapi32 >"$log" 2>&1 ||
            fail "Could not compile $name.dll; the compiler's output: $log"
    done
}

# Wine 8 does not let Python use a plain file as stdin or stdout: stdin is empty, and the output goes through a pipe.
windows_python() {
    PYTHONUNBUFFERED=1 wine 'C:\python\python.exe' "$@" </dev/null 2>&1 | cat
    return "${PIPESTATUS[0]}"
}
