#!/bin/bash
# make demo-ray: a real Ray cluster on this machine.  Two actors ask for a GPU
# each on a head that has none; Davit starts two raylets (their GPUs exist on
# paper only), the actors run, and when they end the raylets go.  Runs where
# there is no network but lo (tests/netns.sh): Ray would listen everywhere.
set -u
. "$(dirname "$0")/lib.sh"
[ "$(ls /sys/class/net)" = lo ] || { # sysfs shows the namespace it was mounted in
    names=$(awk -F: 'NR > 2 { gsub(/ /, "", $1); print $1 }' /proc/net/dev)
    [ "$names" = lo ] || { echo "demo: run it as tests/netns.sh $0" >&2; exit 2; }
}
command -v ray >/dev/null || { echo "demo: no \`ray\` in PATH" >&2; exit 2; }
head= actors=
# Ends what is left when the demo is broken off: only processes it started.
finish() {
    local pid raylets=
    [ -z "$actors" ] || kill "$actors" 2>/dev/null
    daemon_stop
    for pid in $(cat "$work"/machines/*/*/pid 2>/dev/null | awk '{ print $1 }'); do
        grep -qz ^DAVIT_LOCAL_MACHINE= "/proc/$pid/environ" 2>/dev/null &&
            kill "$pid" && raylets="$raylets $pid"
    done
    [ -z "$head" ] || kill "$head" 2>/dev/null
    for _ in $(seq 100); do
        kill -0 $head $raylets 2>/dev/null || break
        sleep 0.1 # wait: looks again
    done
    for pid in $head $raylets; do
        kill -9 "$pid" 2>/dev/null
    done
    rm -rf "$work"
}
trap finish EXIT
export RAY_USAGE_STATS_ENABLED=0 RAY_enable_autoscaler_v2=1 PYTHONUNBUFFERED=1

say "1. A Ray head with one CPU and no GPU"
RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0 setsid ray start --head --block --no-monitor --port=6379 \
    --node-ip-address=127.0.0.1 --num-cpus=1 --num-gpus=0 --object-store-memory=80000000 \
    --include-dashboard=false --temp-dir="$work/h" --disable-usage-stats >"$work/head.log" 2>&1 &
head=$!
for _ in $(seq 300); do
    grep -q "runtime started" "$work/head.log" && break
    kill -0 "$head" 2>/dev/null || { cat "$work/head.log"; exit 1; }
    sleep 0.1 # wait: looks again
done
grep -q "runtime started" "$work/head.log" || fail "Ray did not start: $(tail -5 "$work/head.log")"

say "2. Davit beside it, with the provider \`local\`: a machine is a raylet on this machine"
mkdir "$work/t"
cat >"$work/davit.yaml" <<EOF
cluster: demo-ray
head: {ray: {address: 127.0.0.1:6379}}
api: {listen: 127.0.0.1:0}
state: davit.db
limits: {max_nodes: 4, idle_timeout: 4s, start_timeout: 60s}
providers:
  local: {dir: machines, temp_dir: $work/t, object_store_memory: 80M}
node_types:
  cpu: {resources: {CPU: 2}, price: 0.10, max: 2}
  t4: {resources: {CPU: 1, GPU: 1}, accelerator_type: T4, price: 0.50, max: 2}
EOF
[ ${#work} -le 28 ] || sed -i "s|temp_dir: [^,]*, ||" "$work/davit.yaml"
cat "$work/davit.yaml"
daemon_start davit.yaml
show status

say "3. Two actors want a GPU each"
cat >"$work/actors.py" <<'EOF'
import ray, time
ray.init(address="127.0.0.1:6379", log_to_driver=False, logging_level="ERROR")

@ray.remote(num_gpus=1)
class Worker:
    def hello(self):
        c = ray.get_runtime_context()
        return f"  an actor runs with GPU {ray.get_gpu_ids()} on node {c.get_node_id()[:12]}"

workers = [Worker.remote() for _ in range(2)]
print("  waiting for", len(workers), "actors", flush=True)
for line in ray.get([w.hello.remote() for w in workers], timeout=120):
    print(line, flush=True)
time.sleep(4)
EOF
cat "$work/actors.py"
began=$(now)
python3 "$work/actors.py" 2>"$work/actors.log" &
actors=$!
up=
before=
while kill -0 "$actors" 2>/dev/null; do
    have=$(nodes | awk '{ n[$3]++ } END { for (s in n) printf "%d %s  ", n[s], s }')
    if [ "$have" != "$before" ]; then
        printf '  %s  %s\n' "$(date +%T)" "$have"
        before=$have
    fi
    if [ -z "$up" ] && [ "$(nodes | awk '$2 == "t4" && $3 == "ready"' | wc -l)" -eq 2 ]; then
        up=$(now)
        show nodes
        show why "$(nodes | awk '$2 == "t4" { print $1; exit }')"
    fi
    sleep 0.2 # wait: looks again
done
wait "$actors"
actors_rc=$?
actors=
[ "$actors_rc" -eq 0 ] || { cat "$work/actors.log"; fail "the actors did not run"; }
[ -n "$up" ] || fail "there were never two T4 nodes"

say "4. The actors have ended: idle for 4 s, their nodes go"
gone=$(now)
watch_them_go 60
end=$(now)
ray status --address=127.0.0.1:6379 2>/dev/null | sed -n '/^Node status/,/^Resources/p' | sed '$d'

launched=$(count node.starting)
ended=$(count node.gone)
say "Summary"
echo "  two actors on a head without GPUs: 2 T4 nodes were ready after $(seconds "$began" "$up") s, both actors ran"
echo "  launched $launched, ended $ended; the last node was gone $(seconds "$gone" "$end") s after the work had ended"
[ "$launched" -eq 2 ] || fail "$launched machines were launched for two actors"
[ "$ended" -eq 2 ] || fail "something was left running"
echo "  nothing is left running"
