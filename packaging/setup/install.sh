# shellcheck shell=bash
# Installing the app into .venv with pip, at the versions of uv.lock, and saying why it did not work.

# install_app EXTRA: leaves the stamp at `installing`; the caller marks the end.
install_app() {
    local log=$VENV/pip.log pins=$VENV/pins.txt
    mark installing
    say "Setting up .venv with the packages for '$1'; the first time takes a minute or two."
    "$VENV/bin/python" -I "$ROOT/packaging/setup/pins.py" "$ROOT/uv.lock" >"$pins" 2>/dev/null ||
        fail "uv.lock cannot be read; bring it back with: git checkout uv.lock"
    pip_install "$1" "$pins" "$log" || fail "Could not install MCP Lens: $(pip_cause "$log") pip's log: $log"
}

# pip_install EXTRA PINS LOG: in a subshell, so that `.[extra]` has no trouble with a path that holds spaces
# or brackets, and only pip's own words go to the log. -I keeps modules of the current folder out of pip.
# Without a network pip's usual 5 retries take a minute.
pip_install() {
    (
        cd -- "$ROOT" && PIP_RETRIES=${PIP_RETRIES:-2} "$VENV/bin/python" -I -m pip install \
            --disable-pip-version-check --no-input --constraint "$2" --editable ".[$1]"
    ) >"$3" 2>&1
}

# pip_cause LOG: the reason and the fix, from what pip wrote.
pip_cause() {
    local log retry="and run this again."
    log=$(<"$1")
    case $log in
        *"No space left on device"*)
            printf 'the disk is full; free some space, %s' "$retry"
            ;;
        *CERTIFICATE_VERIFY_FAILED*)
            printf 'the certificate of the package index is not trusted; name your CA with PIP_CERT=/path/to/ca.pem, %s' "$retry"
            ;;
        *"connection broken by"* | *"Max retries exceeded"* | *"Read timed out"*)
            printf 'the package index cannot be reached; check the network and the settings of pip, %s' "$retry"
            ;;
        *"No matching distribution found for "*)
            log=${log##*No matching distribution found for }
            printf 'pip finds no package for %s; check the network and the settings of pip, %s' "${log%%$'\n'*}" "$retry"
            ;;
        *)
            log=${log##*ERROR: }
            printf 'pip says "%s"; put that right, %s' "${log%%$'\n'*}" "$retry"
            ;;
    esac
}
