#!/bin/bash
# Builds libmicrohttpd as a static library where the system's is older than we need; the Makefile calls it.
#
#   configs/libmicrohttpd.sh VERSION FOLDER      FOLDER: gets include/ and lib/
#
# Before 1.0 its parser takes what RFC 9112 refuses (a bare LF, a NUL, a header without a name), before 1.0.3 a connection
# may be forgotten while another is suspended, before 1.0.9 a client may crash it.  Debian 12 has 0.9.75, Debian 13 1.0.1.
# The source is GNU's own archive, from GNU or from Debian's package of it; its digest is known here.
set -euo pipefail
version=$1 to=$2
declare -A digest=([1.0.10]=04bfe8ef75db7d629a33de767599765cecadc56274a39822d5d081030d577685)
name=libmicrohttpd-$version.tar.gz

mkdir -p "$(dirname "$to")"
exec 9>"$to.lock"                       # several builds may want it at once
flock 9
if [ -e "$to/lib/libmicrohttpd.a" ]; then
    # It is linked as it lies there: so nobody else may have put it there.
    [ -z "$(find "$to" \( ! -user "$(id -u)" ! -user 0 \) -o \( ! -type l -perm /002 \))" ] && exit 0
    echo "libmicrohttpd: $to is, or could be written, by somebody else: remove it, and it is built anew" >&2
    exit 1
fi
work=$(mktemp -d "$to.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
echo "libmicrohttpd: building $version, once, into $to" >&2

good() {
    sha256sum --check --status <<<"${digest[$version]}  $name" 2>/dev/null
}

from_gnu() {
    curl -fsSL --connect-timeout 10 --max-time 120 -o "$name" "https://ftp.gnu.org/gnu/libmicrohttpd/$name"
}

# With lists of its own: the machine's stay as they are.
from_debian() {
    local keys=/usr/share/keyrings/debian-archive-keyring.gpg suite full
    command -v apt-get >/dev/null || return 1
    for suite in sid forky; do
        mkdir -p "apt/$suite/lists/partial" "apt/$suite/cache/archives/partial"
        echo "deb-src [signed-by=$keys] http://deb.debian.org/debian $suite main" > "apt/$suite/sources"
        set -- -o "Dir::Etc::SourceList=$PWD/apt/$suite/sources" -o Dir::Etc::SourceParts=/dev/null \
            -o "Dir::State::Lists=$PWD/apt/$suite/lists" -o "Dir::Cache=$PWD/apt/$suite/cache" -o APT::Sandbox::User=root
        apt-get -qq "$@" update || continue
        full=$(apt-cache "$@" showsrc libmicrohttpd | sed -n "s/^Version: \($version-.*\)/\1/p" | tail -1)
        [ -n "$full" ] && apt-get -qq "$@" source --download-only "libmicrohttpd=$full" &&
            mv "libmicrohttpd_$version.orig.tar.gz" "$name" && return 0
    done
    return 1
}

for from in from_gnu from_debian; do
    $from >>log 2>&1 && good && break
done
good || {
    sed 's/^/    /' log >&2
    echo "libmicrohttpd: cannot get $name with the SHA-256 ${digest[$version]:-that is known here}; install libmicrohttpd" \
         "$version or later, or unpack a build of it at $to" >&2
    exit 1
}
tar xf "$name"
cd "libmicrohttpd-$version"
# What the daemon does not use is left out.
{ ./configure --prefix="$to" --disable-shared --enable-static --with-pic --enable-https=yes --disable-doc --disable-examples \
      --disable-tools --disable-curl --disable-httpupgrade --disable-dauth --disable-bauth --disable-cookie \
      --disable-postprocessor CFLAGS="${CFLAGS:--O2 -g}" &&
  make -j"$(nproc)" && make install DESTDIR="$work/out"; } >>"$work/log" 2>&1 || {
    tail -20 "$work/log" >&2
    exit 1
}
rm -rf "$to"
mv "$work/out$to" "$to"
