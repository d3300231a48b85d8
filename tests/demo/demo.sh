#!/bin/bash
# make demo: the daemon on a simulated cloud, from nothing to three nodes and
# back.  Needs no account, no Ray and no network; leaves nothing behind.
set -u
. "$(dirname "$0")/lib.sh"
trap 'daemon_stop; rm -rf "$work"' EXIT

sed 's/^  listen:.*/  listen: 127.0.0.1:0/; s/idle_timeout: 10s/idle_timeout: 4s/' \
    "$root/configs/sim.yaml" >"$work/davit.yaml"

say "1. A daemon on a small simulated cloud (configs/sim.yaml)"
show validate "$work/davit.yaml" || fail "the configuration is wrong"
daemon_start davit.yaml
show status
echo "The same as a page: $DAVIT_URL/"

say "2. Two T4s and 24 CPUs: the CPUs that T4 machines bring count, the rest is bought without GPUs"
began=$(now)
show request --owner train --num-cpus 24 --wait 60s 'GPU=1,accelerator_type=T4*2' ||
    fail "the nodes did not come"
up=$(now)
show nodes
t4=$(nodes | awk '$2 == "t4" && $3 == "ready"' | wc -l)
came=$(nodes | wc -l)
[ "$t4" -eq 2 ] || fail "there should be two T4 nodes, there are $t4"

say "3. Why are they there?"
show why "$(nodes | awk '$2 == "t4" { print $1; exit }')" || fail "no reason"
show why train

say "4. What nobody offers is said at once, and disturbs nobody"
show request --owner dream GPU=1,accelerator_type=H100
show request --owner dream --clear

say "5. Cleared: idle for 4 s, they go"
show request --owner train --clear || fail "not cleared"
gone=$(now)
watch_them_go 60
end=$(now)

launched=$(count node.starting)
ended=$(count node.gone)
show status
say "Summary"
echo "  asked for 2 x T4 and 24 CPUs; $came nodes came ($t4 with a T4), all ready after $(seconds "$began" "$up") s"
echo "  launched $launched, ended $ended; the last one was gone $(seconds "$gone" "$end") s after the request was cleared"
[ "$launched" -eq "$came" ] || fail "$launched machines were launched for $came nodes"
[ "$launched" -eq "$ended" ] || fail "something was left running"
echo "  nothing is left running"

# make demo KEEP=1: a minute in which something happens, for who looks at the page.
if [ -n "${KEEP:-}" ]; then
    say "The page, for a minute (^C ends it): $DAVIT_URL/"
    end=$((SECONDS + 60)) turn=0
    while [ $SECONDS -lt "$end" ]; do
        turn=$((turn + 1))
        "$davit" request --owner train --ttl 12s "GPU=1,accelerator_type=T4*$((turn % 2 + 1))" >/dev/null
        "$davit" request --owner eval --ttl 9s --num-cpus $((turn % 3 * 8 + 4)) >/dev/null
        sleep 8 # wait: somebody looks
    done
fi
