/*
 * publish.c - see publish.h.
 */
#include "publish.h"

#include "../wire/kube/kube.h"

/* The page keeps what they lie in: of those with bundles since the snapshot. */
static void requests_show(const struct requests *r, struct status_page *p)
{
    struct status_request *v = ARENA_ARRAY(&p->arena, struct status_request,
                                           r->all.n);

    for (uint32_t i = 0; i < r->all.n; i++) {
        const struct request *q = r->all.v[i];

        if (q->demand.n_bundles == 0)
            status_hold_shared(p, q->memory);
        v[i] = (struct status_request){
            q->owner,      *q->problem ? "" : q->body,
            q->created_ms, q->expires_ms,
            q->problem,    arena_strdup(&p->arena, q->share)};
    }
    p->requests = v;
    p->n_requests = r->all.n;
}

/* Of the one source that has pods; its texts are in the view, which the page
 * holds. */
static void waiting_show(const struct source_view *view, struct status_page *p)
{
    struct status_waiting *v = ARENA_ARRAY(&p->arena, struct status_waiting,
                                           view->n_counts);

    for (uint32_t i = 0; i < view->n_counts; i++)
        v[i] = (struct status_waiting){view->counts[i].code,
                                       view->counts[i].text, view->counts[i].n};
    p->waiting = v;
    p->n_waiting = view->n_counts;
}

/* Those of which a source said why they are no demand. */
static void left_show(const struct sources *from, struct status_page *p)
{
    uint32_t n = 0, most = 0;
    struct status_left *v;

    for (uint32_t i = 0; i < from->n; i++)
        most += from->all[i].view ? from->all[i].view->n_notes : 0;
    v = ARENA_ARRAY(&p->arena, struct status_left, most);
    for (uint32_t i = 0; i < from->n; i++) {
        const struct source_view *view = from->all[i].view;

        p->n_crowded += view ? view->n_crowded : 0;
        if (view && view->n_counts)
            waiting_show(view, p);
        for (uint32_t k = 0; view && k < view->n_notes; k++) {
            const struct source_note *x = &view->notes[k];

            v[n++] = (struct status_left){
                arena_printf(&p->arena, "%s/%s", x->space, x->name), x->code,
                x->text}; /* in the view, which the page holds */
        }
    }
    p->left = v;
    p->n_left = n;
}

static void providers_show(const struct providers *from, struct status_page *p)
{
    struct arena *a = &p->arena;
    struct status_provider *v = ARENA_ARRAY(a, struct status_provider,
                                            from->all.n);

    for (uint32_t i = 0; i < from->all.n; i++) {
        const struct provider_state *s = from->all.v[i];
        const struct plugin_info info = provider_plugin(s->provider);

        v[i] = (struct status_provider){
            .name = s->conf->name,
            .plugin = arena_strdup(a, info.name),
            .version = arena_strdup(a, info.version),
            .ready = provider_is_read(s),
            .problem = arena_strdup(a, s->problem),
            .elsewhere = s->elsewhere,
            .list_short = s->short_since_ms > 0,
            .listed_ms = s->listed_ms,
            .machines = s->machines,
        };
        traffic_sum(from->traffic, s->conf->name, a, &v[i].traffic);
    }
    p->providers = v;
    p->n_providers = from->all.n;
}

struct backoff_list {
    struct arena *arena;
    VEC(struct status_backoff) all;
};

static void backoff_show(void *arg, const struct backoff *b)
{
    struct backoff_list *l = arg;
    struct arena *a = l->arena;

    VEC_PUSH(
        a, &l->all,
        ((struct status_backoff){.provider = arena_strdup(a, b->of.provider),
                                 .type = arena_strdup(a, b->of.type),
                                 .zone = arena_strdup(a, b->of.zone),
                                 .text = arena_strdup(a, b->text),
                                 .spot = b->of.spot,
                                 .why = b->why,
                                 .until_ms = b->until_ms}));
}

static void backoffs_show(const struct ledger *l, struct status_page *p)
{
    struct backoff_list v = {.arena = &p->arena};

    backoffs_each(l->backoffs, l->env->now_ms, backoff_show, &v);
    p->backoffs = v.all.v;
    p->n_backoffs = v.all.n;
}

/* The newest first. */
static void failures_show(const struct ledger *l, struct status_page *p)
{
    uint32_t n = l->n_failures < FAILURES_KEPT ? l->n_failures : FAILURES_KEPT;
    struct status_failure *v = ARENA_ARRAY(&p->arena, struct status_failure, n);

    for (uint32_t i = 0; i < n; i++) {
        const struct failure_note *f =
            &l->failures[(l->n_failures - 1 - i) % FAILURES_KEPT];

        v[i] = (struct status_failure){arena_strdup(&p->arena, f->machine),
                                       arena_strdup(&p->arena, f->type),
                                       arena_strdup(&p->arena, f->text), f->why,
                                       f->at_ms};
    }
    p->failures = v;
    p->n_failures = n;
}

static void ray_show(const struct sources *s, struct status_page *p)
{
    const struct source *h = source_of_kind(s, "ray");
    const struct source_view *view = h ? h->view : NULL;

    p->ray_address = s->conf->now->ray_address;
    p->ray_session = view ? view->session : "";
    p->insecure = kube_access_was_insecure();
    p->n_exposed = exposed_list(&p->arena, p->exposed);
    p->ray_problem = arena_strdup(&p->arena, h ? h->problem : "");
    p->ray_ok = !h || source_is_fresh(s, h);
    p->ray_read_ms = h ? h->read_ms : 0;
    p->ray_began_ms = h ? h->began_ms : 0;
    p->ray_version = view ? view->version : 0;
}

static void unread_show(const struct known *k, struct status_page *p)
{
    const struct journal_odd *odd;
    uint32_t n;

    p->n_unread = journal_odds(k->env->journal, &odd, &n);
    p->unread = n ? arena_printf(&p->arena, "%s \"%s\": %s", odd->kind, odd->id,
                                 odd->text)
                  : "";
    for (uint32_t i = 0; i < p->n_requests; i++) {
        const struct status_request *r = &p->requests[i];

        if (!*r->problem)
            continue;
        if (p->n_unread++ == 0)
            p->unread = arena_printf(&p->arena, "the request of \"%s\": %s",
                                     r->owner, r->problem);
    }
}

/* The machines whose end is held, a blank between. */
static const char *ends_held(const struct known *k, bool by_file,
                             struct status_page *p)
{
    const struct fleet *f = &k->ledger->fleet;
    const char *text;
    struct buf b;

    buf_init(&b, 16 << 20);
    for (uint32_t i = 0; i < f->n; i++)
        if (f->v[i]->end_held &&
            (f->v[i]->end_held == END_HELD_FILE) == by_file)
            buf_printf(&b, "%s%s", b.n ? " " : "", f->v[i]->id);
    text = arena_strdup(&p->arena, b.n ? b.s : "");
    buf_done(&b);
    return text;
}

/* What a person may let go, as he is to see it first. */
static void held_show(const struct known *k, struct status_page *p)
{
    const struct configuration *c = k->conf;
    const struct ours *o = &k->ledger->ours;
    const char *head = sources_another(k->sources);
    char digest[CONFIGURATION_DIGEST];

    configuration_digest(c, digest);
    p->config_held = c->held;
    p->config_digest = arena_strdup(&p->arena, digest);
    p->config_ends = c->held && c->held_ends
                         ? arena_strdup(&p->arena, c->held_ends)
                         : ends_held(k, true, p);
    p->held_ends = ends_held(k, false, p);
    p->another_head = arena_strdup(&p->arena, head ? head : "");
    p->copied = arena_strdup(&p->arena, *o->elder ? o->elder : o->younger);
}

void publish(const struct known *k, struct status_board *board,
             struct status_page *p)
{
    p->started_ms = k->env->started_ms;
    p->version = DAVIT_VERSION;
    p->shadow = k->env->shadow;
    ray_show(k->sources, p);
    requests_show(k->requests, p);
    providers_show(k->providers, p);
    left_show(k->sources, p);
    backoffs_show(k->ledger, p);
    failures_show(k->ledger, p);
    held_show(k, p);
    p->config_path = k->conf->now->path;
    p->config_problem = arena_strdup(&p->arena, k->conf->problem);
    p->config_loaded_ms = k->conf->loaded_ms;
    p->journal_ok = k->ledger->journal_ok && k->ledger->copy_ok;
    p->journal_problem = k->ledger->journal_ok
                             ? ""
                             : arena_strdup(&p->arena, k->ledger->problem.text);
    p->copy_percent = k->ledger->ha ? ha_percent(k->ledger->ha) : 0;
    p->copy_filling = k->ledger->copy_filling;
    unread_show(k, p);
    p->thinking_until_ms = improvement_until_ms(k->improvement);
    atomic_fetch_add(&p->refs, 1);
    status_publish(board, p);
}
