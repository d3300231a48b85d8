#!/bin/bash
# Is there a later release of what is linked statically?  `make outdated` calls it, before each release and once a week.
#
#   configs/outdated.sh VERSION      VERSION: of libmicrohttpd, as the Makefile has it
#
# Asks GNU, and if it does not answer Debian.  Ends with 0 when it is the newest, 1 when there is a later one, 2 when nobody
# can tell.
set -euo pipefail
has=$1

ask() {
    curl -fsSL --connect-timeout 10 --max-time 60 "$1" 2>/dev/null || true
}

newest=$(ask https://ftp.gnu.org/gnu/libmicrohttpd/ | grep -oP 'libmicrohttpd-\K[0-9]+(\.[0-9]+)+(?=\.tar\.gz")' | sort -V | tail -1 || true)
[ -n "$newest" ] ||
    newest=$(ask https://sources.debian.org/api/src/libmicrohttpd/ | grep -oP '"version": *"\K[0-9]+(\.[0-9]+)+(?=-)' | sort -V | tail -1 || true)
if [ -z "$newest" ]; then
    echo "outdated: cannot tell whether libmicrohttpd $has is the newest: neither ftp.gnu.org nor sources.debian.org answers" >&2
    exit 2
fi
if [ "$(printf '%s\n' "$has" "$newest" | sort -V | tail -1)" = "$has" ]; then
    echo "libmicrohttpd $has: there is no later one"
    exit 0
fi
cat >&2 <<END
outdated: libmicrohttpd $has is linked statically, and there is $newest. What to do:
  1. Read what it mends: the ChangeLog in https://ftp.gnu.org/gnu/libmicrohttpd/libmicrohttpd-$newest.tar.gz
  2. Verify that archive by its .sig and GNU's keyring, and take its sha256sum
  3. MHD_VERSION in the Makefile, the digest in configs/libmicrohttpd.sh, the version in docs/security.md
  4. make clean all, python tests/check.py hostile, make fuzz MINUTES=15
  5. If it mends a hole, a release of its own: it is in every program that was built with $has
END
exit 1
