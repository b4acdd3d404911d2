# shellcheck shell=bash
# Install the app into the environment with pip: versions and hashes from uv.lock, the build backend included.

# install_app EXTRA: leaves the stamp at `installing`; the caller sets the final one.
install_app() {
    local log=$VENV/pip.log requirements=$VENV/requirements.txt
    mark installing
    say "Setting up ${VENV##*/} with the packages for '$1'; the first time takes a minute or two."
    "$VENV/bin/python" -I "$ROOT/packaging/setup/requirements.py" "$ROOT/uv.lock" "$1" >"$requirements" 2>/dev/null ||
        fail "Could not read uv.lock; restore it with: git checkout uv.lock"
    pip_install "$requirements" "$log" || fail "Could not install MCP Lens: $(pip_cause "$log") pip's log: $log"
}

# pip_install REQUIREMENTS LOG: every file must have a hash from the lock, and only wheels are used, so that no
# code of a package runs during installation. The app itself is built with the backend just installed. Runs in a
# subshell and installs `.`, so that the project's path may contain spaces and brackets. -I keeps modules of the
# current folder out of pip. Without a network, pip's default of 5 retries would take a minute.
pip_install() {
    (
        cd -- "$ROOT" && export PIP_RETRIES=${PIP_RETRIES:-2} || exit
        quiet_pip --no-deps --require-hashes --only-binary :all: --requirement "$1" &&
            quiet_pip --no-deps --no-build-isolation --no-index --editable .
    ) >"$2" 2>&1
}

quiet_pip() {
    "$VENV/bin/python" -I -m pip install --disable-pip-version-check --no-input "$@"
}

# pip_cause LOG: the cause and the fix, from pip's output.
pip_cause() {
    local log retry="and run this again."
    log=$(<"$1")
    case $log in
        *"No space left on device"*)
            printf 'the disk is full; free some space, %s' "$retry"
            ;;
        *CERTIFICATE_VERIFY_FAILED*)
            printf 'the certificate of the package index is not trusted; set PIP_CERT=/path/to/ca.pem, %s' "$retry"
            ;;
        *"DO NOT MATCH THE HASHES"*)
            printf 'a downloaded package does not match its hash in uv.lock; check your package index, %s' "$retry"
            ;;
        *"connection broken by"* | *"Max retries exceeded"* | *"Read timed out"*)
            printf 'the package index cannot be reached; check the network and the settings of pip, %s' "$retry"
            ;;
        *"No matching distribution found for "*)
            log=${log##*No matching distribution found for }
            printf 'pip finds no package for %s; check the network and the settings of pip, %s' "${log%%[$'\n' ]*}" "$retry"
            ;;
        *)
            log=${log##*ERROR: }
            printf 'pip reported "%s"; fix that, %s' "${log%%$'\n'*}" "$retry"
            ;;
    esac
}
