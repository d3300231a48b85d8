/*
 * control.c - the loop.
 *
 * It runs when something happens (an answer, a request, a timer) and is level
 * triggered: every step looks at all that is known and does what is due, so a
 * lost answer costs one step and nothing else.  Ending the daemon never
 * touches a machine.
 */
#include "control.h"

#include <assert.h>
#include <time.h>

#include "../base/clock.h"
#include "../base/log.h"
#include "../plan/planner.h"
#include "control_inside.h"
#include "ours.h"
#include "publish.h"
#include "rare.h"
#include "report/stops.h"

/* Whatever waits for a time says so; what did not is looked at so often.  A
 * look is cheap, a plan is made anew for those who read the status page. */
enum {
    LOOK_MS = 5000,
    PLAN_MS = 60000,
    PAGE_MS = 200,
    PROBLEM_MS = 5000, /* to look at all that is asked for */
    LEAVE_OUT = 4,     /* so often, within the minute that a probe waits */
};

static int64_t longest_pause(const struct control *c, int64_t usual_ms)
{
    int64_t played = c->opts.outside.pause_ms;

    return c->env.mono_ms + (played ? played : usual_ms);
}

static int64_t clock_us(clockid_t which)
{
    struct timespec t;

    clock_gettime(which, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int64_t cpu_us(void)
{
    return clock_us(CLOCK_THREAD_CPUTIME_ID);
}

/* By the machine's own clock, in a played world too: what a step costs. */
static int64_t real_us(void)
{
    return clock_us(CLOCK_MONOTONIC);
}

static void reload(struct control *c)
{
    reload_if_due(&c->reloading);
}

static bool is_answer(const struct mail *mail)
{
    return mail->kind == MAIL_CALL || mail->kind == MAIL_SOURCE ||
           mail->kind == MAIL_CLOSED;
}

static void mail_fold(struct control *c, struct mail *mail)
{
    switch ((enum mail_kind)mail->kind) {
    case MAIL_CALL: providers_fold(&c->providers, mail); break;
    case MAIL_SOURCE: sources_fold(&c->sources, mail); break;
    case MAIL_IMPROVEMENT: improvement_fold(&c->improvement, mail); break;
    case MAIL_JOURNAL: assert(!"it was folded first"); break;
    case MAIL_CLOSED: provider_closed(&c->providers, mail); break;
    case MAIL_CERTIFICATE: certificate_fold(&c->certificate, mail); break;
    case MAIL_COPY: ledger_copied(&c->ledger, mail); break;
    case MAIL_COMMAND: commands_fold(&c->commands, mail); break;
    case MAIL_CONFIG: configuration_fold(&c->configuration, mail); break;
    }
}

static void mails_take(struct control *c)
{
    if (!c->mails)
        c->last_mail = &c->mails;
    *c->last_mail = mailbox_take(&c->env.inbox);
    while (*c->last_mail)
        c->last_mail = &(*c->last_mail)->next;
}

/* The answer to a commit, out of what was taken; NULL: it has not come. */
static struct mail *commit_take(struct control *c)
{
    struct mail **at = &c->mails, *mail;

    while (*at && (*at)->kind != MAIL_JOURNAL)
        at = &(*at)->next;
    mail = *at;
    if (mail)
        *at = mail->next;
    c->last_mail = at;
    while (*c->last_mail)
        c->last_mail = &(*c->last_mail)->next;
    return mail;
}

void control_commit_fold(struct control *c)
{
    struct mail *mail;

    mails_take(c);
    mail = commit_take(c);
    c->landed = mail;
    if (mail)
        ledger_committed(&c->ledger, mail);
    if (mail && !c->ledger.journal_ok) {
        commands_undo(&c->commands);
        send_undo(&c->send);
    }
}

/* While a batch is being written the journal is not to be touched, and nothing is
 * decided: what happens waits, and is looked at when it is on disk. */
static bool commit_awaited(struct control *c)
{
    const struct mail *mail;

    if (!c->ledger.committing)
        return false;
    mails_take(c);
    for (mail = c->mails; mail && mail->kind != MAIL_JOURNAL;)
        mail = mail->next;
    return !mail;
}

void control_fold(struct control *c)
{
    struct mail *mail, *next;

    mails_take(c);
    mail = c->mails;
    c->mails = NULL;
    c->folded = mail;
    for (; mail; mail = next) {
        next = mail->next;
        if (is_answer(mail) && !c->env.stopping && RARE(MAIL_LATE)) {
            mailbox_post(&c->env.inbox, mail);
            continue;
        }
        c->env.news = c->env.news || !is_answer(mail);
        mail_fold(c, mail);
        if (!c->env.stopping)
            reload(c); /* what follows is of the new one */
    }
}

/* It can be written no more, which is to be seen; or again: then what was planned
 * before is planned anew, as it may not be needed any more. */
static bool journal_turned(struct control *c)
{
    bool turned = c->journal_failed == c->ledger.journal_ok;

    c->journal_failed = !c->ledger.journal_ok;
    if (turned && c->ledger.journal_ok)
        ends_planned(&c->ends);
    return turned;
}

/* A commit has ended, and nothing else has happened or is due: what waited for it
 * leaves, and the last plan stands.  (A plan may write something each time.) */
static bool landed_alone(const struct control *c)
{
    return c->landed && !c->folded && !c->env.news &&
           c->env.mono_ms < c->plan_due_ms && !c->configuration.wanted;
}

/* What happened becomes facts.  False: it is no news and nothing is due, so the
 * last plan stands.  (Unconfirmed demand waits for the next view, whatever that
 * says.) */
static bool look(struct control *c)
{
    bool news;

    env_begin(&c->env);
    control_commit_fold(c);
    reload(c);
    control_fold(c);
    requests_expire(&c->requests);
    calls_overdue(&c->providers);
    observe_deadlines(&c->observe);
    if (journal_turned(c))
        c->env.news = true;
    else if (landed_alone(c))
        return false;
    news = c->env.news || send_may_end(&c->send) ||
           c->ledger.fleet.version != c->planned_version || c->unconfirmed ||
           c->env.mono_ms >= c->plan_due_ms ||
           sources_fresh_set(&c->sources) != c->fresh || RARE(PLAN_AGAIN);
    c->env.news = false;
    return news;
}

/* What a source shows of us is shown again now and then, plan or none. */
static void report_again(struct control *c)
{
    struct status_page *page;

    if (!sources_report_due(&c->sources) || !(page = status_get(&c->board)))
        return;
    sources_report(&c->sources, page);
    status_unref(page);
}

/* What is asked of providers, sources and the configuration now and then, and of
 * the planner. */
static void poll(struct control *c)
{
    certificate_poll(&c->certificate, &c->board);
    report_again(c);
    providers_close_retired(&c->providers);
    providers_poll(&c->providers);
    configuration_poll(&c->configuration);
    sources_poll(&c->sources);
}

/* Who asks for what cannot be looked at in time is left out by his name, so that
 * all others have a plan. */
static bool problem_now(struct control *c, struct status_page *page,
                        struct taken *taken, struct problem **ret)
{
    struct err err;

    for (int i = 0; i < LEAVE_OUT; i++) {
        int64_t until = clock_mono_ms() + PROBLEM_MS;
        uint32_t slowest = 0;
        enum status s = problem_make_by(taken->snapshot, until, &page->arena,
                                        ret, &slowest, &err);

        if (s == ST_OK)
            return true;
        log_error("no snapshot: %s", err.text);
        if (c->ledger.ha)
            ha_pulse(c->ledger.ha); /* it goes round, though slowly */
        if (s != ST_CANCELLED || i + 1 == LEAVE_OUT)
            return false;
        requests_set_aside(&c->requests, &taken->snapshot->demands[slowest],
                           err.text);
        *taken = snapshot_take(&c->known, page);
    }
    return false;
}

/* The plan for what is known.  False is a bug of ours, since all that is known
 * came through checked readers: it is logged as an error. */
static bool make_plan(struct control *c, struct status_page *page,
                      struct taken *ret)
{
    struct problem *now;
    struct plan *plan = ARENA_NEW(&page->arena, struct plan);
    int64_t t0;

    c->planned_version = c->ledger.fleet.version;
    *ret = snapshot_take(&c->known, page);
    c->unconfirmed = ret->unconfirmed;
    c->fresh = sources_fresh_set(&c->sources);
    if (c->unconfirmed || send_awaits_view(&c->send))
        sources_hurry(&c->sources);
    env_wake_mono(&c->env, ret->confirmed_ms);
    env_wake_wall(&c->env, snapshot_changes_ms(&c->known));
    if (!problem_now(c, page, ret, &now))
        return false;
    offers_used_up(&c->providers, ret->snapshot);
    asked_planned(&c->requests.asked, now);
    t0 = cpu_us();
    if (settled_plan(&c->settled, &c->memory, now, PLANNER_AT_ONCE,
                     &page->arena, plan))
        atomic_fetch_add(&c->env.metrics.spared, 1);
    page->planned_us = cpu_us() - t0;
    if (plan->settled_until_ms)
        env_wake_wall(&c->env, plan->settled_until_ms);
    page->snapshot = ret->snapshot;
    page->now = now;
    page->plan = plan;
    return true;
}

/* Writes down what the plan means, and does it.  As long as nothing can be
 * written down, or another daemon does it, the plan is only shown. */
static void carry_out(struct control *c, struct status_page *page,
                      const struct taken *taken)
{
    bool waits;
    uint32_t n;

    if (!c->ledger.journal_ok || ours_stands(&c->ledger))
        return;
    displacing_take(&c->displacing, page->now, page->plan);
    waits = improvement_waits(&c->improvement, page->plan);
    n = act(&c->act, taken, page->now, page->plan, waits);
    improvement_step(&c->improvement, page, waits, n > 0);
    send_due(&c->send);
}

/* What waits in truth, beside what this plan has. */
static void shadow_look(struct control *c, const struct status_page *page)
{
    const struct source *h = source_of_machines(&c->sources);
    uint32_t waiting = 0;

    for (uint32_t i = 0; i < c->sources.n; i++) {
        const struct source_view *view = c->sources.all[i].view;

        waiting += view && view->present ? view->present->waiting : 0;
    }
    shadow_page(c->env.shadow, page, h ? h->view : NULL, waiting,
                c->env.mono_ms, c->env.journal);
}

/* Shows what was done. */
static void show(struct control *c, struct status_page *page)
{
    stops_show(&c->known, &c->ends, page);
    displacing_show(&c->displacing, page);
    history_see(&c->history, page);
    certificate_show(&c->certificate, page);
    publish(&c->known, &c->board, page); /* the API reads this, nothing else */
    spending_page(&c->spending, page);
    if (c->env.shadow)
        shadow_look(c, page);
    if (c->record)
        record_put(c->record, page);
    sources_report(&c->sources, page);
    kube_texts_page(&c->kube_texts, page);
    unplaced_emit(&c->unplaced, page);
}

static void metrics_count(struct metrics *m, int64_t plan_us, int64_t tick_us)
{
    atomic_fetch_add(&m->ticks, 1);
    atomic_fetch_add(&m->plan_us_sum, (unsigned long long)plan_us);
    atomic_fetch_add(&m->tick_us_sum, (unsigned long long)tick_us);
    figure_time(&m->figures, FIGURE_PLAN, plan_us, FIGURE_LABELS_(NULL));
    figure_time(&m->figures, FIGURE_TICK, tick_us, FIGURE_LABELS_(NULL));
    if ((unsigned long long)plan_us > atomic_load(&m->plan_us_max))
        atomic_store(&m->plan_us_max, (unsigned long long)plan_us);
}

/* What this step did is soon in a page, if no answer brings one before.  That
 * what is gone is swept away is no news: it is in no snapshot. */
static void fleet_swept(struct control *c)
{
    bool same = c->ledger.fleet.version == c->planned_version;

    fleet_sweep(&c->ledger.fleet);
    if (same)
        c->planned_version = c->ledger.fleet.version;
    else
        env_wake_mono(&c->env, c->env.mono_ms + PAGE_MS);
}

static void tick(struct control *c)
{
    struct status_page *page = status_new();
    int64_t t0 = cpu_us();
    struct taken taken;

    page->tick = ++c->tick;
    c->planned = make_plan(c, page, &taken);
    if (c->planned) {
        carry_out(c, page, &taken);
        requests_fallback(&c->env, page->now, page->plan, taken.requests,
                          taken.n_requests);
        show(c, page);
        previous_remember(&c->previous, page, taken.machines);
    } else {
        send_due(&c->send); /* the ledger stays as it is */
    }
    sources_forget_gone(&c->sources);
    fleet_swept(c);
    env_wake_mono(&c->env, longest_pause(c, PLAN_MS));
    c->plan_due_ms = c->env.due_ms;
    metrics_count(&c->env.metrics, page->planned_us, cpu_us() - t0);
    status_unref(page);
}

/* What the step wrote down, all at once and last: from here on the journal is the
 * writer's.  One that could not be written is tried again. */
static void commit(struct control *c, bool planned)
{
    bool was = c->ledger.journal_ok, due;

    if (was)
        due = c->ledger.writer; /* else send_due() has */
    else
        due = planned || c->env.mono_ms >= c->ledger.again_ms;
    if (due)
        send_commit_begin(&c->send);
    if (!was && c->ledger.journal_ok) /* no writer: it is known already */
        env_wake_mono(&c->env, c->env.mono_ms);
    if (!c->ledger.journal_ok && !c->ledger.committing)
        send_undo(&c->send);
    commands_answer(&c->commands, c->planned);
}

/* There is no plan: what is on disk since leaves now.  What it has to wait for is
 * looked at with a plan then, as it would be after one. */
static void landed_send(struct control *c)
{
    int64_t due = c->env.due_ms;

    c->env.due_ms = INT64_MAX;
    send_due(&c->send);
    if (c->env.due_ms < c->plan_due_ms)
        c->plan_due_ms = c->env.due_ms;
    env_wake_mono(&c->env, due);
}

static int64_t step(struct control *c)
{
    bool planned = look(c);

    if (planned)
        tick(c);
    else if (c->landed && c->ledger.journal_ok)
        landed_send(c);
    if (c->plan_due_ms)
        env_wake_mono(&c->env, c->plan_due_ms);
    poll(c);
    commit(c, planned);
    env_wake_mono(&c->env, longest_pause(c, LOOK_MS));
    if (!c->ledger.journal_ok)
        env_wake_mono(&c->env, c->ledger.again_ms);
    return c->env.due_ms;
}

static void step_count(struct metrics *m, int64_t us)
{
    atomic_fetch_add(&m->steps, 1);
    figure_time(&m->figures, FIGURE_STEP, us, FIGURE_LABELS_(NULL));
    if ((unsigned long long)us > atomic_load(&m->step_us_max))
        atomic_store(&m->step_us_max, (unsigned long long)us);
}

int64_t control_step(struct control *c)
{
    int64_t due, t0 = real_us();

    if (c->env.stopping)
        return INT64_MAX;
    if (c->ledger.ha)
        ha_pulse(c->ledger.ha);
    due = commit_awaited(c) ? clock_mono_ms() + LOOK_MS : step(c);
    workers_check(c->env.workers, clock_mono_ms());
    step_count(&c->env.metrics, real_us() - t0);
    return due;
}
