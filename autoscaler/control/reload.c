/*
 * reload.c - see reload.h.
 */
#include "reload.h"

#include <stdio.h>
#include <string.h>

#include "../base/clock.h"
#include "../base/log.h"
#include "../plan/planner.h"
#include "ours.h"
#include "prices/agreed.h"
#include "report/changes.h"
#include "type_names.h"

enum { ERRORS_MAX = 64 * 1024, FIRST_PLAN_MS = 5000 };

static bool names_equal(const struct names *a, const struct names *b)
{
    bool same = a->n == b->n;

    for (uint32_t i = 0; same && i < a->n; i++)
        same = strcmp(a->v[i], b->v[i]) == 0;
    return same;
}

/* "" or what stands in the way of taking this over while running. */
static const char *fixed_changed(const struct config *a, const struct config *b)
{
    if (strcmp(a->state, b->state) != 0)
        return "state: needs a restart";
    if (strcmp(a->ha_namespace, b->ha_namespace) != 0 ||
        strcmp(a->ha_name, b->ha_name) != 0 ||
        strcmp(a->ha_identity, b->ha_identity) != 0 ||
        a->ha_lease_ms != b->ha_lease_ms)
        return "ha: needs a restart";
    if (strcmp(a->cluster, b->cluster) != 0)
        return "cluster: needs a restart (machines are ours by that name)";
    if (strcmp(a->ray_address, b->ray_address) != 0 ||
        strcmp(a->ray_token_file, b->ray_token_file) != 0)
        return "head.ray: needs a restart";
    if (a->kube != b->kube ||
        strcmp(a->kube_kubeconfig, b->kube_kubeconfig) != 0 ||
        strcmp(a->kube_context, b->kube_context) != 0 ||
        strcmp(a->kube_label, b->kube_label) != 0 ||
        strcmp(a->kube_scheduler_config, b->kube_scheduler_config) != 0 ||
        !names_equal(&a->kube_namespaces, &b->kube_namespaces) ||
        !names_equal(&a->kube_startup, &b->kube_startup) ||
        !names_equal(&a->kube_schedulers, &b->kube_schedulers))
        return "head.kubernetes: needs a restart";
    if (strcmp(a->api_host, b->api_host) != 0 || a->api_port != b->api_port ||
        strcmp(a->api_token_file, b->api_token_file) != 0 ||
        strcmp(a->api_tls_cert, b->api_tls_cert) != 0 ||
        strcmp(a->api_tls_key, b->api_tls_key) != 0 ||
        strcmp(a->api_client_ca, b->api_client_ca) != 0 ||
        strcmp(a->api_client_crl, b->api_client_crl) != 0 ||
        a->api_anonymous != b->api_anonymous ||
        strcmp(a->api_tokens, b->api_tokens) != 0 ||
        strcmp(a->api_socket, b->api_socket) != 0 ||
        a->api_kube != b->api_kube ||
        a->api_kube_cache_ms != b->api_kube_cache_ms ||
        strcmp(a->api_kube_audience, b->api_kube_audience) != 0 ||
        strcmp(a->api_kube_namespace, b->api_kube_namespace) != 0 ||
        strcmp(a->api_audit, b->api_audit) != 0 ||
        !names_equal(&a->api_hosts, &b->api_hosts))
        return "api: needs a restart";
    if (strcmp(a->metrics_host, b->metrics_host) != 0 ||
        a->metrics_port != b->metrics_port)
        return "api.metrics: needs a restart";
    return "";
}

/* ---- what taking it over would do to machines */

static uint32_t machines_of(const struct fleet *f, const char *provider)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < f->n; i++)
        n += f->v[i]->state != STATE_GONE &&
             strcmp(f->v[i]->provider, provider) == 0;
    return n;
}

static bool is_in(const struct config *c, const char *provider)
{
    for (uint32_t i = 0; i < c->n_providers; i++)
        if (strcmp(c->providers[i].name, provider) == 0)
            return true;
    return false;
}

/* Providers with machines that it no longer has, or that are elsewhere. */
static void places_compare(const struct reloading *r, const struct config *conf,
                           const struct provider_set *set, struct buf *ret)
{
    const struct ledger *l = r->known->ledger;
    const struct config *now = r->conf->now;

    for (uint32_t i = 0; i < now->n_providers; i++) {
        const char *name = now->providers[i].name;
        uint32_t n = machines_of(&l->fleet, name);

        if (n && !is_in(conf, name))
            buf_printf(ret, "it drops provider %s, which has %u machines; ",
                       name, n);
    }
    for (uint32_t i = 0; i < set->n; i++) {
        const char *name = set->v[i]->conf->name, *was = ours_place(l, name);
        const char *place = provider_place(set->v[i]->provider);
        uint32_t n = machines_of(&l->fleet, name);

        if (n && *was && strcmp(was, place) != 0)
            buf_printf(ret,
                       "it takes provider %s, which has %u machines, from %s "
                       "to %s; ",
                       name, n, was, place);
    }
}

/* The first plan under a file; in the page's arena. */
static enum status plan_under(const struct reloading *r, struct config *conf,
                              struct status_page *page, struct planned *ret,
                              struct err *err)
{
    struct configuration with = *r->conf;
    struct known known = *r->known;
    struct plan *plan = ARENA_NEW(&page->arena, struct plan);
    struct problem *now;
    uint32_t slowest;
    enum status s;

    with.now = conf;
    known.conf = &with;
    s = problem_make_by(snapshot_take(&known, page).snapshot,
                        clock_mono_ms() + FIRST_PLAN_MS, &page->arena, &now,
                        &slowest, err);
    if (s == ST_OK)
        planner_run(now, PLANNER_AT_ONCE, &page->arena, plan);
    *ret = (struct planned){now, plan};
    return s;
}

/* What the first plan under it would end that nobody would be asked about; its names
 * lie in the arena.  A plan that cannot be made in time may end anything; one under
 * the file in force that cannot says of nothing that it is needed. */
static enum status ends_of(const struct reloading *r, struct config *conf,
                           struct arena *a, struct ends_by_file *ret,
                           struct err *err)
{
    struct status_page *page = status_new(), *page_of_before = status_new();
    struct planned after, before;
    enum status s = plan_under(r, conf, page, &after, err);

    *ret = (struct ends_by_file){.names = arena_strdup(a, "")};
    if (s == ST_OK) {
        bool known = plan_under(r, r->conf->now, page_of_before, &before,
                                NULL) == ST_OK;

        *ret = ends_by_file(&after, known ? &before : NULL, a);
    }
    status_unref(page);
    status_unref(page_of_before);
    return s;
}

/* Launches that are not answered are in the earlier place, if anywhere: to forget
 * them would be to lose what they made. */
static void unanswered_compare(const struct reloading *r,
                               const struct provider_set *set, struct buf *ret)
{
    const struct ledger *l = r->known->ledger;

    for (uint32_t i = 0; i < set->n; i++) {
        const char *name = set->v[i]->conf->name, *was = ours_place(l, name);
        uint32_t n = launches_unanswered(&l->fleet, name);

        if (n && *was && strcmp(was, provider_place(set->v[i]->provider)) != 0)
            buf_printf(ret,
                       "it takes provider %s to another place, and %u launches "
                       "in %s are not answered yet: `davit apply` again when a "
                       "list has told, or `davit forget` them; ",
                       name, n, was);
    }
}

/* A person agreed to what it would have ended when he looked. */
static const char *unseen(const struct reloading *r, struct config *conf,
                          struct buf *ret, struct arena *a)
{
    struct ends_by_file ends;
    struct err err;

    if (ends_of(r, conf, a, &ends, &err) != ST_OK)
        buf_printf(ret, "what it would end is not known (%s); ", err.text);
    else if (!configuration_ends_shown(r->conf, ends.names))
        buf_printf(
            ret,
            "it is the file that was shown, and its first plan is another "
            "one since: it %s; ",
            ends_by_file_text(&ends, a));
    r->conf->another = ret->n > 0;
    if (ret->n)
        buf_str(ret, "nothing was done: look again, `davit approve config`");
    return ends.names;
}

/* "" when it may be taken over without a person's word; and the machines that it would
 * end. */
static const char *difference(const struct reloading *r, struct config *conf,
                              const struct provider_set *set, struct buf *ret,
                              struct arena *a)
{
    struct ends_by_file ends;
    struct err err;

    if (r->ends->env->shadow)
        return "";
    unanswered_compare(r, set, ret);
    if (ret->n || (configuration_approved(r->conf, conf) && !r->conf->shown))
        return "";
    if (configuration_approved(r->conf, conf))
        return unseen(r, conf, ret, a);
    places_compare(r, conf, set, ret);
    if (ends_of(r, conf, a, &ends, &err) != ST_OK)
        buf_printf(ret, "what it would end is not known (%s); ", err.text);
    else if (ends.n > ends_most(r->ends, conf))
        buf_printf(ret, "its first plan %s; ", ends_by_file_text(&ends, a));
    if (ret->n)
        changes_write(r->conf->now, conf, ret);
    r->conf->another = ret->n && r->conf->approved;
    if (r->conf->another)
        buf_str(ret,
                "it is another file than the one that was held: look again; ");
    if (ret->n)
        buf_str(ret, "`davit apply` takes it over, the old file drops it");
    return ends.names;
}

/* ---- taking it over */

/* A tool that saves the same file again and again says nothing new. */
static enum forgetting forgets(const struct configuration *c,
                               const struct config *conf)
{
    if (c->asked)
        return FORGETS_ALL;
    return conf->digest == c->now->digest ? FORGETS_NOTHING : FORGETS_CALLS;
}

/* Those that were shown; or, where nobody says what was, as many. */
static void ends_go(const struct reloading *r, const struct ends_by_file *ends,
                    bool shown)
{
    struct ledger *l = r->providers->ledger;
    char id[sizeof((struct machine *)0)->id];
    const char *at = ends->names;

    if (!shown && ends->n > 0) /* else what a person has let go stays so */
        ends_allow(r->ends, ends->n);
    while (shown && at && *at) {
        size_t n = strcspn(at, " ");
        struct machine *m;

        snprintf(id, sizeof id, "%.*s", (int)n, at);
        m = fleet_by_id(&l->fleet, id);
        if (m)
            ends_agree(r->ends, m);
        at += n + (at[n] == ' ');
    }
}

static void take_over(const struct reloading *r, struct config *conf,
                      struct provider_set *set)
{
    bool approved = configuration_approved(r->conf, conf);
    bool shown = approved && r->conf->shown;
    struct ends_by_file ends = {0};
    struct arena a = {0};
    struct err err;

    if (approved && ends_of(r, conf, &a, &ends, &err) != ST_OK)
        log_error("what the configuration ends is not known: %s", err.text);
    providers_replace(r->providers, set, forgets(r->conf, conf));
    /* Retired plug-ins copied what they need at open(): see provider.h. */
    configuration_replace(r->conf, conf);
    sources_reloaded(r->sources);
    type_names_settle(r->providers->ledger, conf);
    providers_check_places(r->providers, approved);
    prices_settle(r->providers);
    agreed_file(r->providers->ledger, conf);
    ledger_file_is(r->providers->ledger, conf->digest);
    ends_go(r, &ends, shown);
    arena_done(&a);
}

void reload_if_due(const struct reloading *r)
{
    struct configuration *c = r->conf;
    struct config *conf = NULL;
    struct provider_set set;
    struct buf errors;
    struct arena a = {0};
    const char *fixed, *ends;

    if (!configuration_due(c))
        return;
    c->another = false;
    buf_init(&errors, ERRORS_MAX);
    if (configuration_read(c, &conf, &errors) != ST_OK) {
        configuration_refuse(c, errors.s);
    } else if (*(fixed = fixed_changed(c->now, conf))) {
        configuration_refuse(c, fixed);
        config_free(conf);
    } else if (providers_open(r->providers, conf, &set, &errors) != ST_OK) {
        configuration_refuse(c, errors.s);
        config_free(conf);
    } else {
        buf_clear(&errors);
        ends = difference(r, conf, &set, &errors, &a);
        if (errors.n) {
            configuration_hold(c, conf, errors.s, ends);
            providers_drop(r->providers, &set);
            config_free(conf);
        } else {
            take_over(r, conf, &set);
        }
    }
    arena_done(&a);
    buf_done(&errors);
}
