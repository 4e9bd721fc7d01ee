#!/usr/bin/env bash
# The browser that tests of pages drive: Debian's Chromium. Installs it when root, else says in one
# line what to install; without it those tests are skipped, and say so.
set -eu

if command -v chromium >/dev/null; then
    exit 0
fi
fetch() { timeout "$1" apt-get -qq install -y --no-install-recommends --download-only chromium; }
if [ "$(uname -s)" = Linux ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "setup: installing the browser for tests of pages (chromium, once, under a minute)"
    export DEBIAN_FRONTEND=noninteractive
    # Only the download is cut short: an installation that is killed leaves a broken system.
    { fetch 50 || { timeout 50 apt-get -qq update && fetch 50; }; } >/dev/null 2>&1 &&
        apt-get -qq install -y --no-install-recommends chromium >/dev/null 2>&1 || true
fi
if ! command -v chromium >/dev/null; then
    echo "setup: no chromium, tests of pages are skipped; run: sudo apt-get install chromium" >&2
fi
