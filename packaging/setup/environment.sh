# shellcheck shell=bash
# The private environment in $VENV, usually .venv: check it, or create it.
#
# A stamp file in it records what it contains: `installing`, `demo` or `test`; the project's folder; checksums
# of the files that determine the packages. `installing` remains if a set-up was interrupted.

STAMP=$VENV/mcp-lens-setup

# is_ready EXTRA: true if nothing has to be done. Runs at every start, so it starts only one program: cksum.
is_ready() {
    [[ -x $VENV/bin/python && -x $VENV/bin/mcp-lens && -r $STAMP ]] || return 1
    is_changed_since_stamp && return 1
    local stamp basis
    stamp=$(<"$STAMP")
    basis=$(stamp_basis)
    # The extra `test` contains `demo`.
    [[ $stamp == "$1"$'\n'"$basis" || $stamp == test$'\n'"$basis" ]]
}

# True if another installer (uv, or pip by hand) changed the packages.
is_changed_since_stamp() {
    local packages
    for packages in "$VENV"/lib/python3.*/site-packages; do
        [[ $packages -nt $STAMP ]] && return 0
    done
    return 1
}

# The folder is included because an environment contains absolute paths: a copied or moved one is broken.
# pyvenv.cfg identifies the Python; it does not exist while the environment is being created.
stamp_basis() {
    printf '%s\n' "$ROOT"
    (cd -- "$ROOT" && cksum pyproject.toml uv.lock "$VENV/pyvenv.cfg" 2>/dev/null) || true
}

# mark STATE: write the stamp.
mark() {
    { printf '%s\n' "$1" && stamp_basis; } >"$STAMP" 2>/dev/null ||
        fail "Could not write to $VENV. Make it writable or delete it, and run this again."
}

# is_usable: true if pip can update the environment. An environment without a stamp, created by hand, is accepted.
is_usable() {
    local state="" folder=$ROOT
    [[ -r $STAMP ]] && { read -r state && read -r folder; } <"$STAMP"
    [[ $state != installing && $folder == "$ROOT" ]] || return 1
    "$VENV/bin/python" -I -c 'import pip, sys; sys.exit(sys.version_info < (3, '"$OLDEST_MINOR"'))' 2>/dev/null
}

make_environment() {
    local output
    need_python
    if [[ -e $VENV || -L $VENV ]]; then
        say "Recreating ${VENV##*/}, because it is incomplete."
        rm -rf -- "$VENV" || fail "Could not delete $VENV. Delete it by hand, and run this again."
    fi
    mkdir -- "$VENV" 2>/dev/null && mark installing
    output=$("$PYTHON" -I -m venv "$VENV" 2>&1) ||
        fail "Could not create $VENV (${output##*$'\n'}). Check that the folder is writable, and run this again."
}
