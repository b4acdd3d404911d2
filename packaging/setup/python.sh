# shellcheck shell=bash
# Find a Python that can create the environment: 3.11 or newer, with the venv module.
# MCP_LENS_PYTHON selects one; it is used when the environment is created, and ignored afterwards.

readonly OLDEST_MINOR=11
readonly PYTHON_NAMES=(python3.14 python3.13 python3.12 python3.11 python3)
readonly PYTHON_HINT="set MCP_LENS_PYTHON=/path/to/python3"

# Results of find_python. The last two say why no usable Python was found.
PYTHON=""              # executable, all links resolved
PYTHON_TOO_OLD=""      # "3.9 (/usr/bin/python3.9)"
PYTHON_WITHOUT_VENV="" # "3.11"

# need_python: set PYTHON, or exit with the reason and the fix.
need_python() {
    find_python && return
    if [[ -n $PYTHON_WITHOUT_VENV ]]; then
        need_venv_module
    elif [[ -n $PYTHON_TOO_OLD ]]; then
        fail "MCP Lens needs Python 3.$OLDEST_MINOR or newer and found only $PYTHON_TOO_OLD;" \
            "install a newer Python, or $PYTHON_HINT, and run this again."
    else
        need_any_python
    fi
}

find_python() {
    local names=("${PYTHON_NAMES[@]}") name version _ modules path
    [[ -n ${MCP_LENS_PYTHON:-} ]] && names=("$MCP_LENS_PYTHON")
    PYTHON="" PYTHON_TOO_OLD="" PYTHON_WITHOUT_VENV=""
    for name in "${names[@]}"; do
        read -r version _ modules path < <(python_facts "$name") || continue
        if ! is_new_enough "$version"; then
            PYTHON_TOO_OLD="$version ($path)"
        elif [[ $modules != complete ]]; then
            PYTHON_WITHOUT_VENV=${PYTHON_WITHOUT_VENV:-$version}
        else
            # shellcheck disable=SC2034  # environment.sh reads it
            PYTHON=$path
            return 0
        fi
    done
    return 1
}

# list_pythons: "VERSION PATH" of every usable Python on PATH or installed by pyenv, oldest first.
list_pythons() {
    local name version patch modules path
    {
        type -aP "${PYTHON_NAMES[@]}"
        printf '%s\n' "${PYENV_ROOT:-${HOME:-}/.pyenv}"/versions/*/bin/python3
    } | while read -r name; do
        read -r version patch modules path < <(python_facts "$name") || continue
        is_new_enough "$version" && [[ $modules == complete ]] && printf '%s.%s %s\n' "$version" "$patch" "$path"
    done | sort -u -t. -k1,1n -k2,2n -k3,3n
}

# python_facts NAME: "VERSION PATCH complete|bare PATH", or nothing if NAME does not run. Links are resolved, so that
# the environment depends on python3.11 and not on a `python3` that may become 3.12, and is not created from
# itself when .venv is active. Must run on any Python 3.
python_facts() {
    "$1" -I -c '
import os, sys
try:
    import ensurepip, venv
    modules = "complete"
except ImportError:
    modules = "bare"
version = sys.version_info
print("%d.%d %d %s %s" % (version[0], version[1], version[2], modules, os.path.realpath(sys.executable)))
' 2>/dev/null
}

is_new_enough() {
    local major=${1%%.*} minor=${1#*.}
    [[ $major -gt 3 || ($major -eq 3 && $minor -ge $OLDEST_MINOR) ]]
}

# Debian ships ensurepip, which venv needs, in a separate package per version.
need_venv_module() {
    local package=python$PYTHON_WITHOUT_VENV-venv
    apt_install "$package" && find_python && return
    if has_apt; then
        fail "Python $PYTHON_WITHOUT_VENV has no venv module; install it with: $(apt_command "$package")"
    fi
    fail "Python $PYTHON_WITHOUT_VENV has no venv module (venv and ensurepip);" \
        "install your system's package for it, or $PYTHON_HINT, and run this again."
}

need_any_python() {
    if [[ -n ${MCP_LENS_PYTHON:-} ]]; then
        fail "MCP_LENS_PYTHON=$MCP_LENS_PYTHON is not a Python 3; correct or unset it, and run this again."
    fi
    apt_install python3 python3-venv && find_python && return
    if has_apt && [[ -z $PYTHON_TOO_OLD ]]; then
        fail "MCP Lens needs Python 3.$OLDEST_MINOR or newer and found none;" \
            "install it with: $(apt_command python3 python3-venv)"
    fi
    fail "MCP Lens needs Python 3.$OLDEST_MINOR or newer and found ${PYTHON_TOO_OLD:-none};" \
        "install it, or $PYTHON_HINT, and run this again."
}
