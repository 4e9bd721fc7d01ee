#!/usr/bin/env bash
# FFmpeg's shared libraries, with which LeRobot's default decoder (torchcodec) reads videos.
# Installs them when root, else says in one line what to install.
set -eu

has() { ldconfig -p 2>/dev/null | grep -q "$1"; }
install() { apt-get -qq install -y --no-install-recommends "$@" >/dev/null 2>&1; }

if [ "$(uname -s)" != Linux ] || has libavdevice.so; then
    exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "setup: installing FFmpeg's libraries"
    export DEBIAN_FRONTEND=noninteractive
    install ffmpeg || { apt-get -qq update >/dev/null 2>&1 || true; install ffmpeg; } || true
fi
if ! has libavdevice.so; then
    echo "setup: no FFmpeg libraries, LeRobot's default decoder cannot read videos; run: sudo apt-get install ffmpeg" >&2
fi
