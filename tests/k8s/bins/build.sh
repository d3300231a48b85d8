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

. "$here/../go.sh"
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
