#!/usr/bin/env python3
"""Is the observer awake?  Each mutant breaks a law in the loop; storms must show it.

A copy of the tree is built once; each mutant is one text put in the place of
another.  One whose text is no longer there is reported, and a failure.  Named
sequences are played first, then found worlds, then random ones, until one shows
it: a random world counts that keeps the law with the tree as it is.

usage: mutants.py [--sequences | --seeds A-B] [NAME...]   ends with `N passed, N failed`
       --sequences: only named sequences are played
       mutants.py --check    only whether each one's text is there (tests/lint)
"""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from lib import mutants  # noqa: E402
from lib.mutants import run  # noqa: E402

C = "autoscaler/control/"
AS_IT_IS = "build/release/storm-as-it-is"
# law, name, file, what stands there, what the mutant has; or tuples of both
MUTANTS = [
    (1, "ends_unasked", C + "ends.c", "bool asks = e->sources->n > 0 &&", "bool asks = e->sources->n > 99 &&"),
    (1, "silence_is_consent", C + "sources/drain.c", "    m->tries++;\n    if (j->err.retry_after_ms > wait)",
     "    machine_to(s->ledger, m, STATE_STOPPING);\n    if (j->err.retry_after_ms > wait)"),
    (1, "deadline_halved", C + "observe.c", "    if (o->env->now_ms < until) {\n        env_wake_wall(o->env, until);\n        return;\n    }\n    machine_to(o->ledger, m, STATE_STOPPING);",
     "    until = m->drain_since_ms + DRAIN_DEADLINE_MS / 60;\n    if (o->env->now_ms < until) {\n        env_wake_wall(o->env, until);\n        return;\n    }\n"
     "    machine_to(o->ledger, m, STATE_STOPPING);"),
    (1, "sleep_overlooked", C + "sources/nodes.c", "int64_t slept = s->env->slept_ms - h->began_slept_ms;",
     "int64_t slept = 0 * (s->env->slept_ms - h->began_slept_ms);"),
    (1, "ends_on_old_facts", C + "last_look.c", "return sources_know_work(l->sources);", "return l->sources->n < 99;"),
    # known once is never "never came"
    (1, "missing_is_late", C + "sources/unjoined.c", "    if (m->ready_ms)\n", "    if (m->ready_ms && !*m->id)\n"),
    (1, "death_of_another", C + "sources/joins.c", "bool known = n && !restarted && strcmp(n->node_id, m->ray_id) == 0;", "bool known = n && !restarted;"),
    (1, "another_head_believed", C + "sources/another.c", "any_at_stake(s) &&", "!any_at_stake(s) &&"),
    (1, "absent_is_drained", C + "sources/drain.c", "    if (seen && !c.contested &&", "    if (seen || !c.contested ||"),
    (1, "drained_by_whoever_answers", C + "sources/drain.c", "h->ops->drains_in_steps && !source_is_fresh(s, h)", "h->ops->drains_in_steps && !h->ops"),
    (1, "a_name_is_its_last_owners", C + "sources/claims.c", "return x && x->state != STATE_GONE;", "return !x || *x->id;"),
    (6, "an_end_is_for_ever", C + "sources/joins.c", "m->maybe.ended_ms && !m->maybe.told)", "m->maybe.ended_ms)"),
    (1, "told_when_it_is_taken", C + "sources/read.c", "return posted && posted < now ? posted : now;", "return posted && posted > now ? posted : now;"),
    (1, "an_old_death_is_the_new_ones", C + "sources/claims.c", "h->ops->by_address && n->status != SOURCE_DEAD)", "h->ops->by_address && n)"),
    (6, "settled_forgets_drains", C + "settled.c", "        now->settled = true;", "        now->settled = false;"),
    (7, "landed_waits_for_a_plan", C + "control.c", "    else if (c->landed && c->ledger.journal_ok)\n", "    else if (c->landed && !c->plan_due_ms)\n"),
    (2, "asked_when_it_is_taken", C + "requests.c", "cmd->asked_ms ? cmd->asked_ms : now_ms", "cmd->asked_ms > now_ms ? cmd->asked_ms : now_ms"),
    (1, "head_forgotten_at_a_start", C + "ledger.c", "    value_open(l, HEAD_KEY,", "    if (!l->path)\n        value_open(l, HEAD_KEY,"),
    (6, "another_head_for_ever", C + "sources/claims.c", "any = n->status != SOURCE_DEAD &&", "any = n->status == SOURCE_DEAD &&"),
    (1, "dead_at_once_are_ended", C + "ends.c", "return dead > WAVE_LEAST &&", "return dead > there + WAVE_LEAST &&"),
    # a machine is its id and its launch
    (1, "id_is_one_for_ever", "autoscaler/model/fleet.c", "            !launch_is_same(m->request_id, request_id))", "            (!launch_is_same(m->request_id, request_id) && !*m->id))"),
    (1, "old_node_is_its_own", C + "sources/claims.c", "return m->adopted ? INT64_MIN : m->created_ms;", "return INT64_MIN;"),
    (5, "answer_has_the_last_word", C + "providers/machines.c", "(m->state < STATE_READY || !m->seen_ms) &&", "m->state < STATE_READY &&"),
    # what was agreed is looked up
    (1, "drain_remembered", C + "sources/joins.c", "    if (n->status == SOURCE_DRAINING || n->status == SOURCE_UNREADY ||\n", "    if (n->status == SOURCE_DRAINING || h->view ||\n"),
    (1, "vanished_is_without_work", C + "sources/joins.c", "    return !n && m->maybe.lived &&", "    return !n && !*m->id &&"),
    (1, "drain_remembered_to_the_end", C + "sources/nodes.c", ("n->status == SOURCE_UNREADY) &&", "    if (c.contested)\n        return false;\n"),
     ("n->status != SOURCE_DEAD) &&", "")),
    (1, "unlisted_launch_overlooked", C + "last_look.c", ("    if (!p)\n", "return !fleet_shares_id(&l->ledger->fleet, m);"),
     ("    if (l->ledger)\n", "return l->ledger || !fleet_shares_id(&l->ledger->fleet, m);")),
    (1, "first_end_is_not_looked_at", C + "last_look.c", "    if (!p)\n", "    if (!p || (!m->maybe.end_sent && m->why != REASON_END_FAILED))\n"),
    (7, "launches_go_first", C + "send.c", "ENDS_FIRST_MS = 20000", "ENDS_FIRST_MS = 2000000000"),
    # one reading is not final
    (5, "one_word_is_enough", C + "providers/machines.c", "m->maybe.said == phase && m->maybe.said_ms < p->env->now_ms;", "m->maybe.said <= phase + 99;"),
    (6, "no_way_back", C + "providers/machines.c", "        if (again)\n", "        if (again && !*m->id)\n"),
    (6, "end_is_forgotten", C + "ledger.c", "    if (to == STATE_GONE)\n        ended_keep(l, m);\n", "    if (to == STATE_COUNT)\n        ended_keep(l, m);\n"),
    (3, "one_list_ends_it", C + "settle.c", "        return missed_twice(m, list_begun_ms,\n                            list_begun_ms >=", "        return list_begun_ms >= m->maybe.ended_ms ||\n               missed_twice(m, list_begun_ms,\n                            list_begun_ms >="),
    (1, "slow_answer_believed", C + "sources/nodes.c", "(h->ops->waits ? s->env->now_ms", "(h->view ? s->env->now_ms"),
    (1, "old_answer_believed", C + "sources/read.c", "if (h->failures == 0)\n        return source_age_ms(s, h) < FOLLOWS_MS;", "if (h->view)\n        return true;"),
    (1, "late_answer_believed", C + "sources/job.c", "return strcmp(j->for_node, m->ray_id) != 0;", "return !*m->id && strcmp(j->for_node, m->ray_id) != 0;"),
    (1, "commit_in_the_loop", C + "send.c", "    if (s->ledger->writer) {\n        if (s->ledger->journal_ok)", "    if (!*s->ledger->path) {\n        if (s->ledger->journal_ok)"),
    (1, "rise_ends_what_works", "autoscaler/plan/shrink.c", "if (working && b->agreed <= a->s->limits.max_cost_micros_hour) {", "if (working && b->agreed < 0) {"),
    (2, "request_not_written", C + "requests.c", "    journal_put_request(r->env->journal, &row, NULL);", "    (void)row, (void)r;"),
    (2, "drop_not_written", C + "requests.c", "    request_unwrite(r, cmd->owner);", "    (void)cmd;"),
    (2, "expires_early", C + "requests.c", "q->expires_ms > r->env->now_ms)", "q->expires_ms > r->env->now_ms + 600000)"),
    (2, "refused_forgets", C + "requests.c", "    request_write(r, q);\n    cmd->before = request_put(r, q);",
     "    if (!r->ledger->journal_ok) {\n        bool found;\n        uint32_t at = request_at(r, q->owner, &found);\n        if (found)\n            request_free(request_remove(r, at));\n"
     "        cmd->status = err_set(&cmd->err, ST_RETRY, \"the disk is full\");\n        request_free(q);\n        return;\n    }\n    request_write(r, q);\n    cmd->before = request_put(r, q);"),
    (2, "ttl_of_a_day", C + "requests.c", "    if (!q->expires_ms || ahead <= 0)", "    if (!q->expires_ms || ahead >= 0)"),
    (2, "ttl_by_the_wall", C + "requests.c", ("q->expires_ms > r->env->now_ms)", '#include "../base/suggest.h"\n'),
     ("q->expires_ms > clock_wall_ms())", '#include "../base/suggest.h"\n#include "../base/clock.h"\n')),
    (3, "ending_is_free", "autoscaler/plan/limits.c", "return !n->unmanaged && n->state != STATE_GONE;",
     "return !n->unmanaged && n->state != STATE_GONE && n->state != STATE_STOPPING;"),
    (3, "end_is_death", C + "providers/answers.c", "        m->maybe.ended_ms = p->env->now_ms;\n", "        machine_to(p->ledger, m, STATE_GONE);\n"),
    (3, "cost_of_half", "autoscaler/plan/limits.c", "d->cost = amount_add(d->cost, n->price_micros_hour);",
     "d->cost = amount_add(d->cost, n->price_micros_hour / 2);"),
    (3, "max_once_raised", C + "reload.c", "    providers_replace(r->providers, set, forgets(r->conf, conf));\n",
     "    if (conf->limits.max_nodes < r->conf->now->limits.max_nodes)\n        conf->limits.max_nodes = r->conf->now->limits.max_nodes;\n    providers_replace(r->providers, set, forgets(r->conf, conf));\n"),
    (3, "price_at_purchase", C + "type_names.c", "return filed >= 0 ? filed : m->price_micros_hour;",
     "return filed >= 0 && m->price_micros_hour < 0 ? filed : m->price_micros_hour;"),
    (3, "told_price_at_purchase", C + "providers/offers.c", "    if (k)\n        type_name_told(", "    if (k && m->price_micros_hour < 0)\n        type_name_told("),
    (3, "price_zero_believed", C + "providers/offers.c", "bool odd = told >= 0 && (", "bool odd = told < -1 && ("),
    (3, "found_is_free", C + "snapshot_nodes.c", '.type = type ? type->fact.name : "",',
     '.type = type && !(m->adopted == ADOPTED && !*m->request_id) ? type->fact.name : "",'),
    (3, "estimates_are_free", "autoscaler/model/problem_place.c", "        return pb_offer_bill(&m->s->offers[n->offer]);", "        return 0;"),
    (3, "over_max_stays", "autoscaler/plan/shrink.c", ("count[t] > s->types[t].max)", "all > s->limits.max_nodes)"),
     ("count[t] > s->types[t].max + 99)", "all > s->limits.max_nodes + 99)")),
    (4, "nothing_adopted", C + "providers/machines.c", "return m || !rest->listed ? m : adopt(p, provider, cm);",
     "return m || !rest->listed || cm->phase != DAVIT_FAILED ? m : adopt(p, provider, cm);"),
    (4, "one_list_is_enough", C + "settle.c", "        m->maybe.missing_ms = list_begun_ms;\n        return false;",
     "        m->maybe.missing_ms = list_begun_ms;\n        return true;"),
    (4, "strangers_overlooked", C + "providers/machines.c", "return m || !rest->listed ? m : adopt(p, provider, cm);",
     "return m || !rest->listed || cm->phase == DAVIT_STOPPING || !*cm->request_id ? m : adopt(p, provider, cm);"),
    (4, "others_ended", C + "ledger.c", "!machine_is_anothers(m) &&", ""),
    (4, "copy_not_seen", C + "ours.c", "return !l->ha && mark_read(", "return l->ha && mark_read("),
    (4, "elder_stands", C + "ours.c", "later = incarnation_younger(o->incarnation, k.by);", "later = incarnation_younger(k.by, o->incarnation);"),
    (4, "stands_until_a_start", C + "ours.c", "        journal_put_value(l->env->journal, ELDER_KEY, o->elder, NULL);\n    emit(", "        journal_put_value(l->env->journal, ELDER_KEY, \"\", NULL);\n    emit("),
    (4, "found_seldom", C + "providers/machines.c", "return m || !rest->listed ? m : adopt(p, provider, cm);",
     "return m || !rest->listed || cm->phase == DAVIT_STOPPING || p->env->now_ms / 400000 % 2 == 0 ? m : adopt(p, provider, cm);"),
    (4, "silence_is_loss", C + "providers/finds.c", "call->done[i] == ST_NOT_FOUND) {", "call->done[i] != ST_OK) {"),
    (4, "ids_have_no_say", C + "providers/finds.c", "m->maybe.found_ms = begun_ms;", "m->maybe.found_ms = 0 * begun_ms;"),
    (5, "asked_is_forgotten", C + "settle.c", "return m->maybe.given_up && !m->busy &&", "return !m->busy ||"),
    (5, "no_settle_time", C + "settle.c", ("return list_begun_ms >= since + settle_ms;", "list_begun_ms >= sent_last(m) + settle_ms"),
     ("return list_begun_ms >= since + 0 * settle_ms;", "list_begun_ms >= sent_last(m) + 0 * settle_ms")),
    (5, "bought_before_a_list", C + "snapshot_nodes.c", "return !m->maybe.unlisted &&", "return !*m->id && !m->maybe.unlisted &&"),
    (5, "never_listed_is_lost", C + "settle.c", "           list_begun_ms - m->maybe.missing_ms >= settle_ms;",
     "           list_begun_ms - m->maybe.missing_ms >= 0 * settle_ms;"),
    (6, "idle_for_ever", C + "snapshot_nodes.c", "n.idle_ms = idle_of(k, m, seen);", "n.idle_ms = idle_of(k, m, seen) * 0 - 1;"),
    (6, "end_asked_once", C + "providers/answers.c", "        m->retry_ms = retry_at(p, m, e);\n        return false;",
     "        m->retry_ms = e ? INT64_MAX : 0;\n        return false;"),
    (6, "joins_overlooked", C + "sources/joins.c", "if (h != source_of_machines(s))", "if (h != source_of_machines(s) || h->view->n_nodes > 2)"),
    (6, "places_hold_launches_back", C + "act.c", "p->action == NODE_END ||\n        m->state == STATE_INTENDED)", "p->action == NODE_END)"),
    (7, "auth_for_ever", "autoscaler/cloud/backoff.c", "[ST_AUTH] = {SCOPE_PROVIDER, 30 * 1000, 600 * 1000}", "[ST_AUTH] = {SCOPE_PROVIDER, INT64_C(1) << 45, INT64_C(1) << 45}"),
    (7, "journal_for_ever", C + "ledger.c", "        l->journal_ok = true;\n        l->pause_ms = 0;\n        l->stale = false;\n        l->saved = batch;\n        return true;",
     "        l->stale = false;\n        l->saved = batch;\n        return l->journal_ok;"),
    (7, "hung_end_for_ever", C + "providers/answers.c",
     ("enum status s = call->job.abandoned ? ST_RETRY : call->done[i];", "            m->busy = false;\n            m->maybe.end_doubt_ms"),
     ("enum status s = call->done[i];\n\n        if (call->job.abandoned)\n            continue;", "            m->maybe.end_doubt_ms")),
    (7, "hung_end_waited_for", C + "providers/answers.c", ("            m->busy = false;\n            m->maybe.end_doubt_ms", "    if (!late)\n        m->busy = false;"),
     ("            m->maybe.end_doubt_ms", "    m->busy = false;")),
    (7, "any_text_is_a_step", C + "providers/machines.c", "    if (step)\n        m->progress_ms", "    if (step || told)\n        m->progress_ms"),
    (7, "any_address_is_a_step", C + "providers/machines.c", "(*cm->address && !*m->address)", "strcmp(cm->address, m->address) != 0"),
    (7, "running_is_a_step_each_time", C + "providers/machines.c", "cm->phase == DAVIT_RUNNING && !m->maybe.runs;", "cm->phase == DAVIT_RUNNING;"),
    (8, "young_death_is_nothing", C + "ledger.c", "(!machine_leaves(m) && l->env->now_ms < machine_proves_ms(m)))", "(!machine_leaves(m) && m->ready_ms == l->env->now_ms))"),
    (8, "joining_is_of_use", "autoscaler/cloud/backoff.c", "    r->backoff.failures = 0;\n    r->backoff.failed_ms = 0;\n    if (now_ms >= r->room_until_ms && !r->backoff.lives)",
     "    r->backoff.failures = r->backoff.lives = 0;\n    r->backoff.failed_ms = 0;\n    if (now_ms >= r->room_until_ms)"),
    (8, "same_file_forgets", C + "reload.c", "    if (c->asked)\n        return FORGETS_ALL;", "    if (c->now)\n        return FORGETS_ALL;"),
    (8, "new_file_forgets_lives", C + "reload.c", "FORGETS_NOTHING : FORGETS_CALLS;", "FORGETS_NOTHING : FORGETS_ALL;"),
    (9, "moves_cost_nothing", "autoscaler/plan/saving/pays.c", "return price <= 0 ||", "return price >= 0 ||"),
    (9, "idle_nodes_are_free", "autoscaler/plan/saving/pays.c", "if (m->over[i] && s->nodes[i].price_micros_hour > 0)", "if (m->over[i] && s->nodes[i].price_micros_hour < 0)"),
    (9, "prices_have_no_past", "autoscaler/plan/saving/pays.c", "    return o->mean_micros_hour - pb_offer_bill(o);", "    return 0 * (o->mean_micros_hour - pb_offer_bill(o));"),
    (9, "drained_hour_is_free", "autoscaler/plan/saving/pays.c", "DRAINED_S = 3600", "DRAINED_S = 0"),
    (0, "batch_left_twice", C + "send.c", "            call_send(s->providers, p, b.call, CALL_TIMEOUT_MS);\n            b.call = NULL;\n",
     "            call_send(s->providers, p, b.call, CALL_TIMEOUT_MS);\n"),
    (7, "renamed_end_lost", C + "providers/answers.c", "return m && strcmp(m->cloud_id, call->ids[i]) == 0 &&",
     "return m && strcmp(m->cloud_id, call->ids[i]) == 0 && strcmp(m->provider, provider_name(call->provider)) == 0 &&"),
    (7, "log_in_the_loop", "autoscaler/base/log.c", "    outbox_add(box, line, n);\n}", "    outbox_add(box, line, n);\n    outbox_turn(box);\n}"),
    (7, "closing_in_the_loop", C + "providers/providers.c", "    retired_close(p, false);", "    retired_close(p, true);"),
    (2, "file_not_looked_at", "autoscaler/store/keep.c", "    if (j->in_batch || !is_lost(j))", "    if (j->in_batch || !*j->path || is_lost(j) || true)"),
    (2, "looked_at_with_a_batch_alone", C + "ledger.c", "!journal_keep_due(l->env->journal, l->env->mono_ms)", "l->env->mono_ms >= 0"),
    (2, "written_again_elsewhere", "autoscaler/store/keep.c", "    s = copy_make(j, vfs ? j->path : made, err);", "    s = copy_make(j, made, err);"),
    (2, "copy_not_looked_at", C + "ha/copy.c", "    if (j->status == ST_OK && j->check)", "    if (j->status == ST_OK && j->check && j->n > 99999)"),
    (2, "pruned_row_alone", C + "ha/copy.c", "    mirror_all(j, NULL);\n", "    (void)j;\n"),
    (2, "copy_looked_at_for_no_one", C + "ha/copy.c", "    bool due = clock_mono_ms() >= h->check_mono_ms;\n", "    bool due = false;\n    if (h->due_mono_ms >= 0)\n        return false;\n"),
    (2, "promised_before_it_is_written", C + "commands.c", "return c->ledger->committing && ledger_unsaved(c->ledger, cmd->batch) &&", "return c->ledger->committing && ledger_unsaved(c->ledger, cmd->batch) && !cmd->kind &&\n           *cmd->owner == '\\0' &&"),
    (7, "stop_unseen", C + "publish.c", ".ready = provider_is_read(s),", ".ready = s->listed_ms > 0,"),
]
# Rows of a table that a unit test has one by one; what only an answer that is under way as its cluster changes would show;
# a plan that is compared with another one.
BY_UNIT = {"absent_is_drained": "test_control_sources", "settled_forgets_drains": "test_plan_memory",
           **{name: "test_control_settle" for name in ("asked_is_forgotten", "no_settle_time", "never_listed_is_lost")}}
# A wedge shows as a world that does not settle, a forgotten machine as one that
# is bought again, or over a limit.
# Law 0: the program must not crash; only a rare way (control/rare.h) fills a batch of ends.
SHOWS = {0: {0}, 1: {1}, 2: {2}, 3: {3}, 4: {4, 3, 5, 6}, 5: {5, 3}, 6: {6}, 7: {6, 7}, 8: {8}, 9: {9}}


def violations(tree, storm, seeds):
    """Yields (seed, law) as they are found."""
    p = subprocess.Popen([storm, "--seeds", seeds], cwd=tree, stdout=subprocess.PIPE, text=True)
    try:
        for line in p.stdout:
            if m := re.match(r"seed (\d+): law (\d+)", line):
                yield int(m[1]), int(m[2])
    finally:
        p.terminate()
        p.wait()


def random_shows(tree, law, seeds):
    """The seed of a world that breaks the law with the mutant alone, or 0."""
    for seed, broken in violations(tree, "build/release/storm", seeds):
        if broken in SHOWS[law] and (seed, broken) not in violations(tree, AS_IT_IS, f"{seed}-{seed}"):
            return seed
    return 0


def unit_shows(tree, test):
    """Does that unit test fail?"""
    built = run("make", "-s", f"build/release/tests/{test}", cwd=tree)
    return not built.returncode and run(os.path.join(tree, "build/release/tests", test), cwd=tree).returncode != 0


def shown(tree, name, law, seeds):
    """What shows it; "" nothing does.  No seeds: sequences, and unit tests, alone are played."""
    if name in BY_UNIT and unit_shows(tree, BY_UNIT[name]):
        return f"the unit test {BY_UNIT[name]}"
    for goal, what in (("check-sequences", "the sequence"), ("check-found", "the world"))[:2 if seeds else 1]:
        if m := re.search(r"^FAILED +(?:\d+ )?(\S+)", run("make", "-s", goal, cwd=tree).stdout, re.M):
            return f"{what} {os.path.basename(m[1])}"
    seed = seeds and random_shows(tree, law, seeds)
    return f"the world of seed {seed}" if seed else ""


def mutant_try(tree, mutant, seeds):
    """(what shows it, else "" and why nothing does)."""
    law, name, path, old, new = mutant
    with mutants.made(tree, path, old, new) as why:
        if why:
            return "", why
        built = run("make", "-s", "build/release/test_sequences", cwd=tree)
        if built.returncode:
            return "", "it does not build: " + built.stdout[-300:]
        return shown(tree, name, law, seeds), "no sequence shows it" + (f", no world of found/, nor one of seeds {seeds}" if seeds else "")


def main(argv):
    seeds, names = "1-3000", argv[1:]
    if names == ["--check"]:
        return mutants.check([m[1:] for m in MUTANTS])
    if names[:1] == ["--sequences"]:
        seeds, names = "", names[1:]
    elif names[:1] == ["--seeds"]:
        seeds, names = names[1], names[2:]
    asked = [m for m in MUTANTS if not names or m[1] in names]
    if unknown := set(names) - {m[1] for m in MUTANTS}:
        sys.exit(f"no such mutant: {', '.join(sorted(unknown))}; there are {', '.join(m[1] for m in MUTANTS)}")
    failed = 0
    with mutants.copy_of() as tree:
        built = run("make", "-s", "build/release/storm", "build/release/test_sequences", cwd=tree)
        if built.returncode:
            print(built.stdout[-2000:])
            return 1
        shutil.copy2(os.path.join(tree, "build/release/storm"), os.path.join(tree, AS_IT_IS))
        for m in asked:
            by, why = mutant_try(tree, m, seeds)
            failed += not by
            print(f"{'caught' if by else 'MISSED'}  law {m[0]}  {m[1]}: {by or why}", flush=True)
    print(f"{len(asked) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
