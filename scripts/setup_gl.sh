#!/usr/bin/env bash
# Headless rendering: OSMesa is preferred (software, the same pixels everywhere), EGL will do.
# Installs it when root, else says in one line what to install.
set -eu

has() { ldconfig -p 2>/dev/null | grep -q "$1"; }
install() { apt-get -qq install -y --no-install-recommends "$@" >/dev/null 2>&1; }

if [ "$(uname -s)" != Linux ] || has libOSMesa.so; then
    exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "setup: installing the headless GL library (libosmesa6)"
    export DEBIAN_FRONTEND=noninteractive
    # Newer distributions dropped OSMesa; there EGL with Mesa's software driver does the same.
    install libosmesa6 libgl1 || { apt-get -qq update >/dev/null 2>&1 || true; install libosmesa6 libgl1; } ||
        install libegl1 libgl1 libgl1-mesa-dri || true
fi
if ! has libOSMesa.so && ! has libEGL.so; then
    echo "setup: no headless GL library, simulations cannot render; run: sudo apt-get install libosmesa6" >&2
fi
