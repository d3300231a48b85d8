#!/bin/bash
# Installs what building and testing need and this machine lacks: Debian
# packages (as root or through sudo) and one Python environment in
# ~/.cache/davit, keyed by what it holds.  Prints the environment's path last.
#   setup.sh build    the compiler's needs only
#   setup.sh test     the tests and real Ray
#   setup.sh clouds   the tests, the clouds' SDKs and servers
#   setup.sh types    what judges and builds the Python client
#   setup.sh page     Chromium, and prints the path of axe-core, fetched once by npm
#   setup.sh first    mmdebstrap, for `make first-node`
#   setup.sh helm     prints the path of helm, built once from Go modules
#   setup.sh k8s      the same, and prints the folder of a Kubernetes control plane's programs,
#                     built once from Go modules: ten to fifteen minutes
#   setup.sh prometheus  prints the folder of prometheus and promtool, unpacked
#                     from Debian's package: installed, it would start a server
set -eu
cd "$(dirname "$0")/.."
what=${1:-build}

build="gcc make pkg-config curl ca-certificates libcurl4-openssl-dev libjansson-dev libyaml-dev
 libgnutls28-dev libssl-dev libuv1-dev libsqlite3-dev zlib1g-dev libprotobuf-c-dev libexpat1-dev
 protobuf-c-compiler dpkg-dev"
test="libcmocka-dev python3 python3-venv iproute2 util-linux openssl git clang-format-14 clang-14 libclang-rt-14-dev systemd binutils ccache
 zsh fish mandoc lintian skopeo umoci spin"

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
    [ "$what" != first ] || need="$need mmdebstrap"
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
    "$venv/bin/python" tests/patient_ray.py "$venv"/lib/python3*/site-packages
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

debian_candidate() {
    apt-cache policy "$1" | sed -n 's/^ *Candidate: //p' | grep -v '(none)'
}

prometheus() {
    if ! version=$(debian_candidate prometheus); then
        sudo=sudo
        [ "$(id -u)" -ne 0 ] || sudo=
        $sudo apt-get update -qq >&2
        version=$(debian_candidate prometheus)
    fi
    there=${DAVIT_CACHE:-$HOME/.cache/davit}/prometheus-$version
    if [ ! -x "$there/promtool" ]; then
        echo "setup: Prometheus $version in $there" >&2
        rm -rf "$there.new" "$there"
        mkdir -p "$there.new"
        (cd "$there.new" && apt-get download -qq "prometheus=$version" >&2 &&
            dpkg-deb -x prometheus_*.deb unpacked &&
            mv unpacked/usr/bin/prometheus unpacked/usr/bin/promtool . &&
            rm -rf unpacked prometheus_*.deb)
        mv "$there.new" "$there"
    fi
    echo "$there"
}

case $what in
page) axe ;;
prometheus) prometheus ;;
test | first) environment tests/requirements.txt ;;
clouds) environment tests/requirements-clouds.txt ;;
types) environment tests/requirements-types.txt ;;
k8s)
    tests/k8s/helm/build.sh >/dev/null
    tests/k8s/bins/build.sh
    ;;
helm) tests/k8s/helm/build.sh ;;
esac
