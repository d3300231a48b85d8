#!/bin/bash
# Builds helm from the Go modules that go.mod beside this file pins, and prints
# its path.  Once per key of go.mod and go.sum: the first build takes minutes,
# later calls nothing.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cache=${DAVIT_CACHE:-$HOME/.cache/davit}
key=$(cat "$here/go.mod" "$here/go.sum" | sha256sum | cut -c1-12)
helm=$cache/helm-$key
if [ ! -x "$helm" ]; then
    mkdir -p "$cache"
    exec 9>"$helm.lock"
    flock 9
fi
if [ ! -x "$helm" ]; then
    . "$here/../go.sh"
    echo "setup: building helm (some minutes, once)" >&2
    export GOFLAGS= GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0 GOCACHE=$cache/go-build
    (cd "$here" && nice -n 5 "$go" build -p 2 -buildvcs=false -trimpath -ldflags "-s -w" -o "$helm.new" helm.sh/helm/v3/cmd/helm >&2)
    mv "$helm.new" "$helm"
fi
echo "$helm"
