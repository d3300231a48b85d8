#!/bin/bash
# The contract suite on plug-ins that need no cloud account: the sim, healthy
# and with each of its habits.  The suite itself is tested too: a sim that loses
# its memory (list_lag longer than anybody waits) and the liar must not pass.
# The local provider's `ray` is a stand-in: processes, but no Ray.
# Then the plug-in of docs/provider.md, as it stands there, against its cloud.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${DAVIT_BUILD:-build/release}
check=$B/tests/check_provider
sim=$B/plugins/davit-sim.so
here=$(mktemp -dt ct-XXXXXX) || exit 1
trap 'rm -rf "$here"' EXIT
kept=0
bad=0
# suite COMMAND...: runs it and counts its laws.
suite() {
    local out
    "$@" | tee "$here/out"
    local code=${PIPESTATUS[0]}
    out=$(grep 'laws kept' "$here/out" | tail -1)
    local good broken
    good=$(sed -n 's/.*: \([0-9]*\) laws kept.*/\1/p' <<<"$out")
    broken=$(sed -n 's/.* \([0-9]*\) broken.*/\1/p' <<<"$out")
    kept=$((kept + ${good:-0}))
    bad=$((bad + ${broken:-0}))
    if [ "$code" -ne 0 ] && [ "${broken:-0}" -eq 0 ]; then
        bad=$((bad + 1))
    fi
}

# fault STATE JSON: sets the faults of a sim's state file, under its lock.
cat > "$here/fault" <<'EOF'
#!/bin/bash
exec flock "$1.lock" python3 - "$1" "$2" <<'PY'
import json, os, sys
path, faults = sys.argv[1:]
state = json.load(open(path))
state["faults"] = json.loads(faults)
json.dump(state, open(path + ".edit", "w"))
os.rename(path + ".edit", path)
PY
EOF
chmod +x "$here/fault"

run_sim() {  # NAME EXTRA...
    local state=$here/$1.json
    shift
    "$check" "$sim" -t t4 -r CPU=8 -r GPU=1 -l ray.io/accelerator-type=T4 \
        -z us-a -z us-b -t cpu -r CPU=4 -o "state=$state" -o boot=100ms \
        -o terminate=50ms --ready 10 --gone 10 --call 10 --settle 0.05 "$@"
}

f=$here/fault s=$here/healthy.json
suite run_sim healthy \
    --lose "$f $s '{\"lost_reply\": 1}'" --heal "$f $s '{}'" \
    --partial "$f $s '{\"quota\": {\"machines\": 2}}'" \
    --fault "STOCKOUT=$f $s '{\"stockout\": [\"t4\"]}'" \
    --fault "QUOTA=$f $s '{\"quota\": {\"T4\": 0}}'" \
    --fault "THROTTLED=$f $s '{\"throttle\": true}'" \
    --fault "AUTH=$f $s '{\"auth\": true}'" \
    --fault "RETRY=$f $s '{\"down\": true}'"
suite run_sim slow -o latency=20ms
suite run_sim flaky -o error.every=4
suite run_sim throttled -o throttle.every=5 -o throttle.retry_after=10ms
suite run_sim forgetful -o lost_reply.0=1 -o lost_reply.1=3 -o lost_reply.2=5

must_fail() {  # WHAT COMMAND...
    local what=$1 out
    shift
    if out=$("$@" 2>&1); then
        echo "$out"
        echo "FAIL  the suite lets $what pass"
        bad=$((bad + 1))
    else
        kept=$((kept + 1))
        echo "ok    the suite finds $what: $(grep -m1 BROKEN <<<"$out")"
    fi
}
must_fail "a list that lags" run_sim lagging -o list_lag=1h --ready 1 --only launch
must_fail "machines that fail" run_sim failing -o fail=1 --only ready
for how in more "other request" "control id" thread; do
    must_fail "the liar ($how)" "$check" "$B/tests/plugins/davit-liar.so" \
        -t t4 -o "how=$how" --only launch --ready 1 --gone 1
done
must_fail "room for all" run_sim generous --only partial \
    --partial true
must_fail "a reply that came" run_sim answering --only lost-replies \
    --lose true
# One that is broken is told so at once, not after a minute for each law.
if [ "$(run_sim lame -o list_lag=1h --ready 1 --gone 1 | grep -cE '^(kept|BROKEN)')" -eq 2 ] &&
   [ "$(run_sim lame2 -o list_lag=1h --ready 0.2 --gone 0.2 --keep-going --skip ready |
        grep -cE '^(kept|BROKEN)')" -gt 10 ]; then
    kept=$((kept + 1))
    echo "ok    a broken plug-in stops early"
else
    bad=$((bad + 1))
    echo "FAIL  a broken plug-in does not stop early"
fi
must_fail "a hang" "$check" "$B/tests/plugins/davit-hang.so" -t t4 \
    -o arg=5000 --call 0.1 --ready 1 --gone 1 --only empty

suite "$check" "$B/plugins/davit-local.so" -t t4 -r CPU=2 -r GPU=1 -t cpu \
    -r CPU=2 -o "ray=$PWD/tests/e2e/fake_ray.sh" -o "dir=$here/local" \
    -o "temp_dir=$here/t" --head 127.0.0.1:6379 --ready 20 --gone 20 \
    --call 20 --settle 0.05

# ---- the guide
mkdir -p "$here/include/davit"
cp autoscaler/provider.h "$here/include/davit/"
awk '/^```c( |$)/ {f=1; next} /^```$/ {f=0} f' docs/provider.md > "$here/davit-box.c"
lines=$(wc -l < "$here/davit-box.c")
if [ "$lines" -gt 20 ] && [ "$lines" -le 120 ] &&
   ${CC:-gcc} -std=c11 -Wall -Wextra -Werror -shared -fPIC -I"$here/include" \
       $(pkg-config --cflags jansson) -o "$here/davit-box.so" \
       "$here/davit-box.c" $(pkg-config --libs jansson)
then
    kept=$((kept + 1))
    echo "ok    the guide's plug-in compiles ($lines lines)"
else
    bad=$((bad + 1))
    echo "FAIL  the guide's plug-in ($lines lines) does not compile"
fi
coproc BOX { exec python3 tests/contract/box_cloud.py; }
box_pid=$BOX_PID
read -r port <&"${BOX[0]}"
url=http://127.0.0.1:$port
fault() { echo "STATUS=curl -fsS -o /dev/null --noproxy '*' -X POST $url/fault/$1"; }
suite env no_proxy=127.0.0.1 "$check" "$here/davit-box.so" \
    -t t4 -r GPU=1 -z a -o "url=$url" --ready 10 --gone 10 --call 10 \
    --settle 0.02 --heal "curl -fsS -o /dev/null --noproxy '*' -X POST $url/fault/200" \
    --fault "$(fault 507 | sed s/STATUS/STOCKOUT/)" \
    --fault "$(fault 509 | sed s/STATUS/QUOTA/)" \
    --fault "$(fault 429 | sed s/STATUS/THROTTLED/)" \
    --fault "$(fault 403 | sed s/STATUS/AUTH/)" \
    --fault "$(fault 422 | sed s/STATUS/INVALID/)" \
    --fault "$(fault 500 | sed s/STATUS/RETRY/)"

# The same with a list that swallows what went wrong.
sed 's/return \(ask(self, call, sink, put, e, "GET".*;\)/\1 return DAVIT_OK;/' \
    "$here/davit-box.c" > "$here/davit-deaf.c"
${CC:-gcc} -std=c11 -shared -fPIC -I"$here/include" $(pkg-config --cflags jansson) \
    -o "$here/davit-deaf.so" "$here/davit-deaf.c" $(pkg-config --libs jansson)
must_fail "a list that swallows errors" env no_proxy=127.0.0.1 "$check" \
    "$here/davit-deaf.so" -t t4 -r GPU=1 -z a -o "url=$url" --ready 10 --gone 10 \
    --call 10 --settle 0.02 --only lost-lists

# And with one that takes every reply for a list, whatever its status or its end.
spoilt() {  # NAME SED-EXPRESSION
    sed "$2" "$here/davit-box.c" > "$here/davit-$1.c"
    if cmp -s "$here/davit-box.c" "$here/davit-$1.c"; then
        echo "FAIL  the guide has changed: $1 spoils nothing"
        bad=$((bad + 1))
    fi
    ${CC:-gcc} -std=c11 -shared -fPIC -I"$here/include" $(pkg-config --cflags jansson) \
        -o "$here/davit-$1.so" "$here/davit-$1.c" $(pkg-config --libs jansson)
    must_fail "a list that is $1" env no_proxy=127.0.0.1 "$check" \
        "$here/davit-$1.so" -t t4 -r GPU=1 -z a -o "url=$url" --ready 10 --gone 10 \
        --call 10 --settle 0.02 --only lost-lists
}
spoilt "easily" 's/^    return fail(e, DAVIT_RETRY, code, x->reply_body);/    return DAVIT_OK;/'
spoilt "content" 's/return fail(e, DAVIT_RETRY, "BadJson".*/return DAVIT_OK;/'

# And with a console, of which each piece is gone once it was put: 3 MB, with
# all that a terminal understands.
cat > "$here/console.c" <<'EOF'
static int box_console(void *self, struct davit_call *call, const char *id, struct davit_sink *sink,
                       davit_put_text *put, struct davit_error *e)
{
    struct box *b = self;
    char url[800];
    snprintf(url, sizeof url, "%s/console/%s", b->url, id);
    struct davit_http x = {.size = sizeof x, .method = "GET", .url = url};
    int s = b->host->http(call, &x, e);
    if (s == DAVIT_OK)
        s = verdict(&x, e);
    for (size_t i = 0; s == DAVIT_OK && i < x.reply_len; i += 100000) {
        size_t n = x.reply_len - i < 100000 ? x.reply_len - i : 100000;
        char *piece = malloc(n);
        memcpy(piece, x.reply_body + i, n);
        put(sink, piece, n);
        free(piece);
    }
    return s;
}
EOF
talking() {  # NAME SED-EXPRESSION
    sed "$2" "$here/console.c" > "$here/console-$1.c"
    awk -v f="$here/console-$1.c" '/^static int box_open/ {while ((getline l < f) > 0) print l}
        {sub(/\.terminate = box_terminate}/, ".terminate = box_terminate, .console = box_console}"); print}' \
        "$here/davit-box.c" > "$here/davit-$1.c"
    ${CC:-gcc} -std=c11 -D_GNU_SOURCE -shared -fPIC -I"$here/include" $(pkg-config --cflags jansson) \
        -o "$here/davit-$1.so" "$here/davit-$1.c" $(pkg-config --libs jansson) || bad=$((bad + 1))
}
heard() {  # NAME CALL-SECONDS
    env no_proxy=127.0.0.1 "$check" "$here/davit-$1.so" -t t4 -r GPU=1 -z a \
        -o "url=$url" --ready 10 --gone 10 --call "$2" --settle 0.02 --only console
}
talking talking ''
suite heard talking 10
talking inventing 's/return s;/if (s == DAVIT_NOT_FOUND) put(sink, "booting", 7); return s;/'
must_fail "a console of nobody" heard inventing 2
talking babbling 's/s = verdict(&x, e);/s = x.reply_status == 503 ? DAVIT_OK : verdict(\&x, e);/'
must_fail "an error's body for a console" heard babbling 2
talking dawdling 's/return s;/nanosleep(\&(struct timespec){3}, NULL); return s;/;1i #include <time.h>'
must_fail "a console that knows no deadline" heard dawdling 1

# ---- as a stranger runs it, by the lines of docs/provider.md and docs/exec.md
stranger() {  # PLUGIN ARGS
    suite env -u MAKEFLAGS -u MAKELEVEL no_proxy=127.0.0.1 make -s \
        VARIANT="${B##*/}" check-provider PLUGIN="$1" \
        ARGS="$2 --only launch --only same-request --only chosen"
}
stranger "$here/davit-box.so" "-t t4 -r GPU=1 -o url=$url"
stranger "$B/plugins/davit-exec.so" "-t t4 -r GPU=1 -o \
    command=$PWD/providers/exec/example.py -o options.file=$here/example.json"
kill "$box_pid"
wait "$box_pid" 2>/dev/null

echo "$kept passed, $bad failed"
[ "$bad" -eq 0 ]
