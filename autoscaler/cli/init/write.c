/*
 * write.c - what was found as a configuration with comments.
 *
 * Names, labels and taints come from other systems: a text that YAML could take
 * for something else is quoted as JSON has it, and no comment goes beyond its
 * line.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "../../base/buf.h"
#include "../../model/amount.h"
#include "init.h"

static bool is_plain(const char *s)
{
    static const char *const words[] = {"true", "false", "null", "yes", "no",
                                        "on",   "off",   "y",    "n"};

    if (!isalpha((unsigned char)*s))
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(s, words[i]) == 0)
            return false;
    return s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                       "0123456789_./-")] == '\0';
}

static void scalar(struct buf *b, const char *s)
{
    json_t *j;
    char *text;

    if (is_plain(s)) {
        buf_str(b, s);
        return;
    }
    j = json_string(s);
    text = j ? json_dumps(j, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;
    buf_str(b, text ? text : "\"\"");
    free(text);
    json_decref(j);
}

/* What comes from outside into a comment stays on its line. */
static void comment(struct buf *b, const char *before, const char *s)
{
    buf_str(b, before);
    for (; *s; s++)
        buf_printf(b, "%c", (unsigned char)*s < ' ' || *s == 127 ? ' ' : *s);
    buf_str(b, "\n");
}

static void time_of(struct buf *b, int64_t ms)
{
    if (ms % 60000 == 0 && ms)
        buf_printf(b, "%lldm", (long long)(ms / 60000));
    else
        buf_printf(b, "%llds", (long long)(ms / 1000));
}

static void list(struct buf *b, const char *key, const char *const *v,
                 uint32_t n)
{
    if (n == 0)
        return;
    buf_printf(b, "    %s: [", key);
    for (uint32_t i = 0; i < n; i++) {
        buf_str(b, i ? ", " : "");
        scalar(b, v[i]);
    }
    buf_str(b, "]\n");
}

static void mapping(struct buf *b, const struct pair *v, uint32_t n)
{
    buf_str(b, "{");
    for (uint32_t i = 0; i < n; i++) {
        buf_str(b, i ? ", " : "");
        scalar(b, v[i].key);
        buf_str(b, ": ");
        scalar(b, v[i].value);
    }
    buf_str(b, "}\n");
}

/* "50Gi" where that is all of it. */
static const char *exactly(const struct qty *q, char *buf, size_t n)
{
    int64_t back;

    if (amount_parse(amount_pretty(q->name, q->amount, buf, n), &back) &&
        back == q->amount)
        return buf;
    return amount_text(q->amount, buf, n);
}

/* Only what the catalogue does not know by the machine's name. */
static void resources(struct buf *b, struct found *f, const struct init_pool *p)
{
    struct cat_machine known;
    struct err err;
    char amount[64];

    if (*p->machine && catalogue_find(f->catalogue, p->machine, &f->arena,
                                      &known, &err) == ST_OK)
        return;
    if (p->resources.n == 0)
        return;
    buf_str(b, "    resources: {");
    for (uint32_t i = 0; i < p->resources.n; i++) {
        const struct qty *q = &p->resources.v[i];
        buf_str(b, i ? ", " : "");
        scalar(b, q->name);
        buf_printf(b, ": %s", exactly(q, amount, sizeof amount));
    }
    buf_str(b, "}\n");
    if (p->price_micros_hour < 0)
        buf_str(b, "    # price: 1.50              # dollars an hour; without "
                   "it one is estimated\n");
}

static void pool(struct buf *b, struct found *f, const struct init_pool *p)
{
    buf_str(b, "  ");
    scalar(b, p->name);
    buf_str(b, ":");
    if (p->seen)
        buf_printf(b, "                    # %u there now", p->seen);
    buf_str(b, "\n");
    if (*p->note)
        comment(b, "    # ", p->note);
    buf_str(b, "    provider: ");
    scalar(b, p->provider);
    if (*p->pool) {
        buf_str(b, "\n    pool: ");
        scalar(b, p->pool);
    }
    if (*p->machine) {
        buf_str(b, "\n    machine: ");
        scalar(b, p->machine);
    }
    buf_str(b, "\n");
    resources(b, f, p);
    if (*p->accelerator) {
        buf_str(b, "    accelerator_type: ");
        scalar(b, p->accelerator);
        buf_str(b, "\n");
    }
    list(b, "zones", p->zones.v, p->zones.n);
    list(b, "taints", p->taints.v, p->taints.n);
    if (p->labels.n) {
        buf_str(b, "    labels: ");
        mapping(b, p->labels.v, p->labels.n);
    }
    if (p->spot)
        buf_printf(b, "    market: %s\n",
                   p->on_demand ? "[on-demand, spot]" : "spot");
    if (p->hosts > 1)
        buf_printf(b, "    hosts: %u\n", p->hosts);
    if (p->price_micros_hour >= 0)
        buf_printf(b, "    price: %g\n", (double)p->price_micros_hour / 1e6);
    if (p->idle_timeout_ms >= 0) {
        buf_str(b, "    idle_timeout: ");
        time_of(b, p->idle_timeout_ms);
        buf_str(b, "\n");
    }
    if (p->min)
        buf_printf(b, "    min: %u\n", p->min);
    if (p->max != UNLIMITED)
        buf_printf(b, "    max: %u\n", p->max);
}

static void head(struct buf *b, const struct found *f)
{
    if (!*f->ray && !f->kube) {
        buf_str(b, "# Work is asked for over REST (`davit request`).  Where a "
                   "Ray head is:\n# head: {ray: {address: HOST:6379}}\n");
        return;
    }
    buf_str(b, "head:\n");
    if (*f->ray) {
        buf_str(b, "  ray: {address: ");
        scalar(b, f->ray);
        buf_str(b, "}\n");
    }
    if (!f->kube)
        return;
    buf_str(b, "  kubernetes: {");
    if (*f->kubeconfig) {
        buf_str(b, "kubeconfig: ");
        scalar(b, f->kubeconfig);
    }
    if (*f->context) {
        buf_str(b, *f->kubeconfig ? ", context: " : "context: ");
        scalar(b, f->context);
    }
    buf_str(b, "}         # pending pods are demand\n");
}

static void limits(struct buf *b, const struct found *f)
{
    uint64_t most = 0;

    for (uint32_t i = 0; i < f->pools.n; i++)
        most += f->pools.v[i]->max == UNLIMITED ? 0 : f->pools.v[i]->max;
    buf_str(b, "limits:\n");
    if (f->max_nodes != UNLIMITED)
        buf_printf(b, "  max_nodes: %u\n", f->max_nodes);
    else if (most)
        buf_printf(b, "  max_nodes: %llu\n", (unsigned long long)most);
    else
        buf_str(b, "  max_nodes: 10\n");
    buf_str(b, "  idle_timeout: ");
    time_of(b, f->idle_timeout_ms < 0 ? 60000 : f->idle_timeout_ms);
    buf_str(b, "\n  # max_cost_per_hour: 50      # dollars; nothing is "
               "launched that would go above it\n");
}

const char *init_text(struct found *f)
{
    struct buf b;
    const char *text;

    buf_init(&b, 4 << 20);
    buf_str(&b,
            "# Written by `davit init`.  `davit config explain KEY` says what "
            "a key means,\n# `davit validate` and `davit doctor` check this "
            "file.\n");
    for (uint32_t i = 0; i < f->unknown.n; i++)
        comment(&b, i ? "# - " : "#\n# What could not be known:\n# - ",
                f->unknown.v[i]);
    buf_str(&b, "\ncluster: ");
    scalar(&b, *f->cluster ? f->cluster : "first");
    buf_str(&b, "          # machines are marked with this name\n\n");
    head(&b, f);
    buf_str(&b, "\n");
    limits(&b, f);
    buf_str(&b, "\nproviders:\n");
    for (uint32_t i = 0; i < f->providers.n; i++) {
        buf_str(&b, "  ");
        scalar(&b, f->providers.v[i].name);
        buf_str(&b, ": ");
        mapping(&b, f->providers.v[i].options.v, f->providers.v[i].options.n);
    }
    buf_str(&b, "\nnode_types:\n");
    for (uint32_t i = 0; i < f->pools.n; i++)
        pool(&b, f, f->pools.v[i]);
    text = arena_strdup(&f->arena, b.s);
    buf_done(&b);
    return text;
}
