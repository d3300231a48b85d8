#!/usr/bin/env python3
"""Is a fault still told where tests were cut?  Each mutant is one fault in code that tests were about which were
shortened, merged or taken away (docs/tests.md, "What was cut").  A cheap test must show it: a unit test program, the
named sequences, or one test of the room's pytest file.

A copy of the tree is built once.  First each test passes on the tree as it is; then each mutant is one text put in the
place of another, and its test must fail, or hang: it has five times the seconds that it took, and half a minute.

usage: mutants.py [NAME...]      ends with `N passed, N failed`; a quarter of an hour
       mutants.py --check        only whether each one's text is there (tests/lint)
"""
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from lib import mutants  # noqa: E402
from lib.mutants import run  # noqa: E402
from near import near  # noqa: E402

C, KUBE, WIRE = "autoscaler/control/", "autoscaler/wire/kube/", "autoscaler/wire/"
U = "tests/unit/test_"
KUBERAY = "tests/integration/test_kuberay.py::test_"
# name, file, what stands there, what the mutant has, the test that shows it
MUTANTS = [
    # waits of the wire's unit tests: they see now what they slept for
    ("dropped_answer_is_final", WIRE + "http.c", "tries < (c->error[0] ? MAX_TRIES : MAX_DROPPED);", "tries < (c->error[0] ? MAX_TRIES : 4);", U + "wire_grpc.c"),
    ("cancel_is_not_seen", WIRE + "http.c", "        if (cancelled(x)) {\n            result = CURLE_ABORTED_BY_CALLBACK;\n",
     "        if (cancelled(x) && r->sink) {\n            result = CURLE_ABORTED_BY_CALLBACK;\n", U + "wire_http.c"),
    ("refused_is_asked_soon", KUBE + "watch.c", "REFUSED_PAUSE_MS = 15000,", "REFUSED_PAUSE_MS = 3000,", U + "wire_kube.c"),
    ("expired_is_watched_on", KUBE + "watch.c", "        if (w->expired) {\n            w->version[0] = '\\0';\n", "        if (w->expired) {\n", U + "wire_kube.c"),
    ("a_stop_waits_for_the_pause", KUBE + "watch.c", "    pthread_cond_broadcast(&w->wake);\n", "", U + "wire_kube.c"),
    ("silence_is_an_answer", WIRE + "http.c", "return r->heard_ms + r->sink->idle_ms - clock_mono_ms();", "return r->heard_ms + 600 * r->sink->idle_ms - clock_mono_ms();", U + "wire_kube.c"),
    # workers, plug-ins, the simulated cloud
    ("hung_worker_is_not_seen", "autoscaler/base/worker.c", "if (!job || !job->deadline_mono_ms || mono_ms < job->deadline_mono_ms)",
     "if (!job || !job->deadline_mono_ms || mono_ms - 1 <= job->deadline_mono_ms)", U + "base.c"),
    ("sleep_past_the_end", "autoscaler/cloud/host.c", "    if (left_ms(dc) <= ms)\n        return false;\n", "", U + "cloud_call.c"),
    ("shelves_are_never_bare", "providers/sim/rules.c", "op->now_ms - field_int(a, \"since_ms\") < d->value;", "op->now_ms - field_int(a, \"since_ms\") > d->value;", U + "cloud_sim.c"),
    ("all_boot_alike", "providers/sim/rules.c", "return t->boot_min_ms + (int64_t)(chance(s, nth, 3) % span);", "return t->boot_min_ms + (int64_t)(chance(s, 0, 3) % span) + 0 * nth;", U + "cloud_sim.c"),
    ("no_rest_after_a_fault", "providers/exec/supervisor.c", "x->start_at_ms = now + (rest > REST_MAX_MS ? REST_MAX_MS : rest);", "x->start_at_ms = now;", "tests/exec/test_exec.c"),
    # the API's port: a page of a tick
    ("page_of_an_old_tick", "autoscaler/api/reads.c", "return c->response && ((c->tick == page->tick && age < FRESH_MS) ||", "return c->response && (c->tick <= page->tick ||", U + "api_server.c"),
    # looks of many seconds at a real control plane: the daemon's own time goes by now
    ("bought_in_vain_again", C + "report/unhelped.c", "FIRST_MS = 600000,", "FIRST_MS = 1000,", U + "control_unhelped.c"),
    ("seen_taint_is_forgotten", C + "report/unhelped.c", "    return n > own.n ? (struct taints){v, n} : own;", "    return own;", U + "control_unhelped.c"),
    ("event_for_each_look", C + "report/kube_events.c", "(k->written_mono_ms && now - k->written_mono_ms < AGAIN_MS))", "(k->written_mono_ms && now < k->written_mono_ms))", U + "control_kube_events.c"),
    ("denied_is_asked_again", C + "report/kube_events.c", "        e->denied = true;\n", "", U + "control_kube_events.c"),
    ("others_cordon_is_taken_back", C + "sources/cordon.c", "                       : n->cordoned_by_us;", "                       : n->unschedulable;", U + "control_cordon.c"),
    ("drain_without_an_end", "autoscaler/kit/kube_drain.c", "if (left_ms <= 0 && s->moving + s->holding + stuck > 0)", "if (left_ms <= 0 && s->holding + stuck > 0)", U + "kit_kube_drain.c"),
    ("waits_are_told_again", C + "report/unplaced.c", "if (n->emitted || n->why == REASON_UNCONFIRMED)", "if (n->why == REASON_UNCONFIRMED)", U + "control_steps.c"),
    # the sidecar at a real operator
    ("replicas_over_max", "providers/k8s/launch.c", "if (now > g->max || units > g->max - now)", "if (now > g->max)", KUBERAY + "max_replicas_is_a_quota"),
    ("named_twice_lowers_twice", "providers/k8s/end.c", "if (p->going || group_names(g, id))", "if (p->going)", KUBERAY + "lost_reply_of_an_end_lowers_once"),
    ("a_busy_host_goes_along", "providers/k8s/end.c", "if (told < all && !broken)", "if (told < 1 && !broken)", KUBERAY + "units_of_hosts_go_together"),
    # waits of the clouds' and the shadow's tests
    ("token_is_used_to_its_end", "autoscaler/kit/token.c", "t->renew_ms = t->expires_ms - early;", "t->renew_ms = t->expires_ms + early;",
     "tests/clouds/aks/test_aks_auth.py::test_one_token_for_all_at_once_and_a_new_one_in_time"),
    ("the_other_side_is_free", C + "shadow/meter.c", ".nanos = (int64_t)((double)s->now.micros_hour[i] * (double)ms *", ".nanos = (int64_t)((double)s->now.micros_hour[0] * (double)ms *", "tests/shadow/test_shadow.py::test_both_sides_add_up"),
    ("each_look_is_a_plan", C + "record.c", "if (p->plan->nodes[i].action != NODE_KEEP)", "if (p->plan->nodes[i].action == NODE_KEEP)", U + "control_record.c"),
]


def build(test):
    """Builds what the test needs; what went wrong."""
    program = test.endswith(".c")
    what = ["VARIANT=debug", "all", "plugins-test", f"build/debug/tests/{os.path.basename(test)[:-2]}"] if program else ["all"]
    made = run("make", "-s", f"-j{near.CORES}", *what, cwd=near.check.ROOT)
    return made.stdout[-600:] if made.returncode else ""


def fails(test, seconds):
    """True: the test fails, or has not ended after so many seconds."""
    path = test.split("::")[0]
    suite = "unit" if path.endswith(".c") else near.suite_of(path)
    command = near.command_of(near.Job(suite, path, 0, ids=[test]))
    command.command = ["timeout", str(int(seconds)), *command.command]
    return near.check.Run(suite, command).failed > 0


def sound(tests):
    """{test: seconds} of those that pass on the tree as it is; the others are named."""
    good = {}
    for test in tests:
        why = build(test)
        began = time.monotonic()
        if why or fails(test, 600):
            print(f"FAILED  {test}: {why or 'without any mutant'}", flush=True)
        else:
            good[test] = time.monotonic() - began
    return good


def mutant_try(tree, path, old, new, test, seconds):
    """"" when the test shows it, else why not."""
    with mutants.made(tree, path, old, new) as why:
        why = why or build(test)
        if why:
            return why
        return "" if fails(test, 30 + 5 * seconds) else f"{test} does not show it"


def main(names):
    if names == ["--check"]:
        return mutants.check([m[:4] for m in MUTANTS])
    if unknown := set(names) - {m[0] for m in MUTANTS}:
        sys.exit(f"no such mutant: {', '.join(sorted(unknown))}; there are {', '.join(m[0] for m in MUTANTS)}")
    asked = [m for m in MUTANTS if not names or m[0] in names]
    caught = 0
    with mutants.copy_of() as tree:
        near.check.ROOT = tree
        good = sound(dict.fromkeys(m[4] for m in asked))
        for name, path, old, new, test in asked:
            why = mutant_try(tree, path, old, new, test, good[test]) if test in good else f"{test} does not pass as it is"
            caught += not why
            print(f"{'MISSED' if why else 'caught'}  {name}: {why or test}", flush=True)
    print(f"{caught} passed, {len(asked) - caught} failed")
    return caught < len(asked)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
