/*
 * view_problems.c - is all well, and what keeps it from that; how old the page is.
 */
#include "../base/clock.h"
#include "view.h"

bool view_ready(const struct view *v)
{
    const struct status_page *p = v->page;
    bool ready = !v->broken && p->journal_ok &&
                 (p->ray_address[0] == '\0' || p->ray_ok);

    for (uint32_t i = 0; i < p->n_providers; i++)
        ready = ready && p->providers[i].ready;
    for (uint32_t i = 0; i < p->n_stops; i++)
        ready = ready && !p->stops[i].failing;
    return ready;
}

/* How long ago the plan was made that is shown. */
int64_t view_age_ms(const struct view *v)
{
    int64_t age = clock_steady_ms() - v->snapshot->now_ms;

    return age > 0 ? age : 0;
}

uint32_t problems_write(struct out *o, const char *key, struct view *v)
{
    const struct status_page *p = v->page;
    uint32_t n = 0;

    out_array(o, key);
    if (p->shadow && ++n)
        out_str(o, NULL,
                "this is a shadow: nothing is launched, drained or ended; its "
                "nodes are virtual (`davit shadow report`)");
    if (p->ray_address[0] && !p->ray_ok && ++n)
        out_strf(o, NULL, "the Ray head at %s cannot be read: %s",
                 p->ray_address,
                 p->ray_problem && p->ray_problem[0] ? p->ray_problem
                                                     : "no good read yet");
    for (uint32_t i = 0; i < p->n_providers; i++)
        if (!p->providers[i].ready && ++n)
            out_strf(o, NULL, "provider %s is not ready: %s",
                     p->providers[i].name,
                     p->providers[i].problem[0] ? p->providers[i].problem
                                                : "no good list yet");
    if (!p->journal_ok && ++n)
        out_strf(o, NULL,
                 "the journal cannot be written%s%s: nothing is launched, "
                 "ended or promised until it can",
                 p->journal_problem && *p->journal_problem ? ": " : "",
                 p->journal_problem ? p->journal_problem : "");
    if (p->copy_filling && ++n)
        out_strf(o, NULL,
                 "the ConfigMaps that hold the journal are %u %% full: at 100 "
                 "%% nothing more is launched or ended",
                 p->copy_percent);
    if (p->n_unread && ++n)
        out_strf(o, NULL,
                 "%u rows of the journal are not understood by this version "
                 "and kept as they are (%s)",
                 p->n_unread, p->unread);
    if (p->config_problem && p->config_problem[0] && ++n)
        out_strf(o, NULL, "the newest configuration was %s: %s",
                 p->config_held ? "held" : "refused", p->config_problem);
    for (uint32_t i = 0; i < p->n_stops && ++n; i++)
        out_str(o, NULL, p->stops[i].text);
    if (p->insecure && ++n)
        out_str(o, NULL,
                "the API server's certificate is not checked "
                "(insecure-skip-tls-verify in the kubeconfig): whoever is in "
                "between reads the token and answers in its place");
    for (uint32_t i = 0; i < p->n_exposed && ++n; i++)
        out_str(o, NULL, p->exposed[i]);
    for (uint32_t i = 0; i < v->n_more; i++)
        out_str(o, NULL, v->more[i]);
    out_close(o);
    return n + v->n_more;
}

uint32_t problems_count(struct view *v)
{
    struct buf b;
    struct out o;
    uint32_t n;

    buf_init(&b, 1 << 20);
    out_init(&o, &b);
    out_object(&o, NULL);
    n = problems_write(&o, "problems", v);
    out_close(&o);
    buf_done(&b);
    return n;
}
