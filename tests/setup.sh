#!/bin/bash
# Installs what building and testing need and this machine lacks: Debian
# packages (as root or through sudo) and one Python environment in
# ~/.cache/davit, keyed by what it holds.  Prints the environment's path last.
#   setup.sh build    the compiler's needs only
#   setup.sh test     the tests and real Ray
#   setup.sh clouds   the tests, the clouds' SDKs and servers
#   setup.sh page     Chromium, and prints the path of axe-core, fetched once by npm
#   setup.sh k8s      prints the folder of a Kubernetes control plane's programs,
#                     built once from Go modules: ten to fifteen minutes
set -eu
cd "$(dirname "$0")/.."
what=${1:-build}

build="gcc make pkg-config libcurl4-openssl-dev libjansson-dev libyaml-dev
 libmicrohttpd-dev libgnutls28-dev libssl-dev libuv1-dev libsqlite3-dev zlib1g-dev libprotobuf-c-dev libexpat1-dev
 protobuf-c-compiler"
test="libcmocka-dev python3 python3-venv iproute2 util-linux openssl git clang-format-14 clang-14 libclang-rt-14-dev systemd binutils"

page="chromium fonts-dejavu-core"
command -v npm >/dev/null || page="$page npm"

missing() {
    for p in "$@"; do
        dpkg-query -W -f '${Status}\n' "$p" 2>/dev/null |
            grep -q '^install ok installed' || echo "$p"
    done
}

if command -v dpkg-query >/dev/null; then
    need=$build
    [ "$what" = build ] || need="$need $test"
    [ "$what" != page ] || need="$need $page"
    # shellcheck disable=SC2086
    lack=$(missing $need)
    if [ -n "$lack" ]; then
        echo "setup: installing" $lack >&2
        sudo=
        [ "$(id -u)" -eq 0 ] || sudo=sudo
        $sudo apt-get update -qq >&2
        # shellcheck disable=SC2086
        DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq \
            --no-install-recommends $lack >&2
    fi
else
    echo "setup: not a Debian or Ubuntu machine; README.md lists what is needed" >&2
fi
# One environment a requirements file.  It is made under a name of its own and
# moved into place, so that a broken-off run leaves none that looks whole.
environment() {
    key=$(sha256sum "$1" | cut -c1-12)
    venv=${DAVIT_CACHE:-$HOME/.cache/davit}/venv-$key
    if [ ! -x "$venv/bin/python" ]; then
        echo "setup: a Python environment for $1 in $venv" >&2
        mkdir -p "$(dirname "$venv")"
        rm -rf "$venv.new" "$venv"
        python3 -m venv "$venv.new"
        "$venv.new/bin/pip" install -q --disable-pip-version-check -r "$1" >&2
        mv "$venv.new" "$venv"
        # scripts name their interpreter by its path: written for the new place
        sed -i "1s|$venv.new|$venv|" "$venv"/bin/* 2>/dev/null || true
    fi
    echo "$venv"
}

# One file of one version: what npm brings is compared with this digest.
axe() {
    version=4.14.1
    sum=29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c
    there=${DAVIT_CACHE:-$HOME/.cache/davit}/axe-core-$version.js
    if [ ! -f "$there" ]; then
        echo "setup: axe-core $version in $there" >&2
        new=$(mktemp -d)
        (cd "$new" && npm pack --silent "axe-core@$version" >/dev/null && tar xf axe-core-*.tgz)
        echo "$sum  $new/package/axe.min.js" | sha256sum --check --quiet >&2
        mkdir -p "$(dirname "$there")"
        mv "$new/package/axe.min.js" "$there"
        rm -rf "$new"
    fi
    echo "$there"
}

case $what in
page) axe ;;
test) environment tests/requirements.txt ;;
clouds) environment tests/requirements-clouds.txt ;;
k8s) tests/k8s/bins/build.sh ;;
esac
