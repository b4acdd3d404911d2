# shellcheck shell=bash
# The private environment in .venv: is it ready, is it sound, and making it anew.
#
# A stamp in it says what it holds. Its lines: `installing`, `demo` or `test`; the project's folder; check
# sums of all that decides the content. `installing` stays behind when a set-up does not reach its end.

STAMP=$VENV/mcp-lens-setup

# is_ready EXTRA: true when nothing needs doing. Every start pays for this, so it runs one program: cksum.
is_ready() {
    [[ -x $VENV/bin/python && -x $VENV/bin/mcp-lens && -r $STAMP ]] || return 1
    is_changed_since_stamp && return 1
    local stamp basis
    stamp=$(<"$STAMP")
    basis=$(stamp_basis)
    # The extra `test` contains `demo`.
    [[ $stamp == "$1"$'\n'"$basis" || $stamp == test$'\n'"$basis" ]]
}

# Another installer (uv, pip by hand) may have added or removed packages after us.
is_changed_since_stamp() {
    local packages
    for packages in "$VENV"/lib/python3.*/site-packages; do
        [[ $packages -nt $STAMP ]] && return 0
    done
    return 1
}

# The folder is part of it because an environment holds absolute paths: a copied or moved one is broken.
# pyvenv.cfg stands for the Python it was made with; while that is still at work there is none.
stamp_basis() {
    printf '%s\n' "$ROOT"
    (cd -- "$ROOT" && cksum pyproject.toml uv.lock .venv/pyvenv.cfg 2>/dev/null) || true
}

# mark STATE: write the stamp.
mark() {
    { printf '%s\n' "$1" && stamp_basis; } >"$STAMP" 2>/dev/null ||
        fail "Cannot write to $VENV; make it yours or delete it, and run this again."
}

# is_sound: true when pip can bring .venv up to date. One without a stamp, made by hand, will do.
is_sound() {
    local state="" folder=$ROOT
    [[ -r $STAMP ]] && { read -r state && read -r folder; } <"$STAMP"
    [[ $state != installing && $folder == "$ROOT" ]] || return 1
    "$VENV/bin/python" -I -c 'import pip, sys; sys.exit(sys.version_info < (3, '"$OLDEST_MINOR"'))' 2>/dev/null
}

make_environment() {
    local output
    need_python
    if [[ -e $VENV || -L $VENV ]]; then
        say "Making .venv anew: the one that is there is not complete."
        rm -rf -- "$VENV" || fail "Cannot delete $VENV; delete it by hand, and run this again."
    fi
    mkdir -- "$VENV" 2>/dev/null && mark installing
    output=$("$PYTHON" -I -m venv "$VENV" 2>&1) ||
        fail "Could not make $VENV (${output##*$'\n'}); see that the folder can be written to, and run this again."
}
