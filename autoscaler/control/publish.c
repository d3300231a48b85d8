/*
 * publish.c - what the world may see of this tick.
 */
#include "../base/clock.h"
#include "../wire/ray/ray.h"
#include "state.h"

#include <string.h>

static void requests_show(struct control *c, struct status_page *p)
{
    struct status_request *v = ARENA_ARRAY(&p->arena, struct status_request,
                                           c->n_requests);

    for (uint32_t i = 0; i < c->n_requests; i++) {
        const struct request *r = c->requests[i];
        v[i] = (struct status_request){arena_strdup(&p->arena, r->owner),
                                       arena_strdup(&p->arena, r->body),
                                       r->created_ms, r->expires_ms};
    }
    p->requests = v;
    p->n_requests = c->n_requests;
}

static void providers_show(struct control *c, struct status_page *p)
{
    struct status_provider *v = ARENA_ARRAY(&p->arena, struct status_provider,
                                            c->sites.n);

    for (uint32_t i = 0; i < c->sites.n; i++) {
        const struct site *s = c->sites.v[i];
        const struct plugin_info info = provider_plugin(s->provider);
        v[i] = (struct status_provider){
            .name = arena_strdup(&p->arena, s->conf->name),
            .plugin = arena_strdup(&p->arena, info.name),
            .version = arena_strdup(&p->arena, info.version),
            .ready = s->listed_ms && !s->list_failures,
            .problem = arena_strdup(&p->arena, s->problem),
            .listed_ms = s->listed_ms,
            .machines = s->machines,
        };
        traffic_sum(c->traffic, s->conf->name, &p->arena, &v[i].traffic);
    }
    p->providers = v;
    p->n_providers = c->sites.n;
}

struct backoff_sink { struct status_page *page; VEC(struct status_rest) v; };

static void backoff_show(void *arg, const struct backoff *r)
{
    struct backoff_sink *s = arg;
    struct arena *a = &s->page->arena;

    VEC_PUSH(a, &s->v,
             ((struct status_rest){.provider = arena_strdup(a, r->of.provider),
                                   .type = arena_strdup(a, r->of.type),
                                   .zone = arena_strdup(a, r->of.zone),
                                   .text = arena_strdup(a, r->text),
                                   .spot = r->of.spot,
                                   .why = r->why,
                                   .until_ms = r->until_ms}));
}

static void failures_show(struct control *c, struct status_page *p)
{
    uint32_t n = c->n_failures < FAILURES_KEPT ? c->n_failures : FAILURES_KEPT;
    struct status_failure *v = ARENA_ARRAY(&p->arena, struct status_failure, n);

    for (uint32_t i = 0; i < n; i++) {
        const struct failure_note *f =
            &c->failures[(c->n_failures - 1 - i) % FAILURES_KEPT];
        v[i] = (struct status_failure){arena_strdup(&p->arena, f->machine),
                                       arena_strdup(&p->arena, f->type),
                                       arena_strdup(&p->arena, f->text), f->why,
                                       f->at_ms};
    }
    p->failures = v;
    p->n_failures = n;
}

void publish(struct control *c, struct status_page *p)
{
    struct backoff_sink backoffs = {.page = p};
    const struct source *h = source_of_kind(c, &ray_ops);
    const struct source_view *view = h ? h->view : NULL;

    p->tick = c->tick;
    p->started_ms = c->started_ms;
    p->version = DAVIT_VERSION;
    p->ray_address = arena_strdup(&p->arena, c->config->ray_address);
    p->ray_session = arena_strdup(&p->arena, view ? view->session : "");
    p->ray_problem = arena_strdup(&p->arena, h ? h->problem : "");
    p->ray_ok = !h || source_is_fresh(c, h);
    p->ray_read_ms = h ? h->read_ms : 0;
    p->ray_version = view ? view->version : 0;
    requests_show(c, p);
    providers_show(c, p);
    backoffs_each(c->backoffs, c->now_ms, backoff_show, &backoffs);
    p->backoffs = backoffs.v.v;
    p->n_rests = backoffs.v.n;
    failures_show(c, p);
    p->config_path = arena_strdup(&p->arena, c->config->path);
    p->config_problem = arena_strdup(&p->arena, c->config_problem);
    p->config_loaded_ms = c->config_loaded_ms;
    p->journal_ok = c->journal_ok && c->copy_ok;
    p->thinking_until_ms = think_until(c);
    atomic_fetch_add(&p->refs, 1);
    status_publish(&c->board, p);
}
