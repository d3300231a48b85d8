/*
 * draw.c - a world and what happens in it, from a seed.
 *
 * Each seed first draws which kinds of faults there are at all and how often each
 * comes (swarm testing), then sizes, times and limits.  A fault lasts, and a calm
 * lasts; otherwise nothing deep is reached.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/hash.h"
#include "script.h"

enum { KINDS = 26 }; /* of weather */

struct drawing {
    uint64_t chance;
    uint64_t more;   /* chance of what came later: what else is drawn from a
                      * seed stays as it is */
    uint32_t doubts; /* of enum doubt, a bit each */
    struct script *s;
    uint32_t rates[HAPPENINGS]; /* shares of all that happens; 0: never */
    uint32_t all;
    uint32_t kinds; /* a bit for each kind of weather */
    uint32_t types;
    bool edits;
    bool unpriced; /* its files say no price: it is estimated */
    bool told;     /* likewise, and its clouds tell */
    bool steady;   /* its daemon is not started again */
};

static bool has(const struct drawing *d, enum doubt x)
{
    return d->doubts >> x & 1;
}

static uint64_t next_of(uint64_t *chance)
{
    uint64_t z = *chance += 0x9e3779b97f4a7c15u; /* splitmix64 */

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t next(struct drawing *d)
{
    return next_of(&d->chance);
}

static uint32_t more_below(struct drawing *d, uint32_t n)
{
    return (uint32_t)(next_of(&d->more) % n);
}

static uint32_t below(struct drawing *d, uint32_t n)
{
    return (uint32_t)(next(d) % n);
}

static uint32_t between(struct drawing *d, uint32_t least, uint32_t most)
{
    return least + below(d, most - least + 1);
}

static bool one_in(struct drawing *d, uint32_t n)
{
    return below(d, n) == 0;
}

/* From short to long, each order of magnitude as likely. */
static uint32_t lasts(struct drawing *d, uint32_t least_ms, uint32_t most_ms)
{
    uint32_t most = least_ms;

    while (most < most_ms && !one_in(d, 4))
        most = most < most_ms / 3 ? most * 3 : most_ms;
    return between(d, least_ms, most);
}

/* ---- settings */

struct draft { /* of a file */
    uint32_t dear, max[3], max_nodes, cost, idle_s, start_s, consolidate;
    uint32_t of_cloud[3];
    uint32_t think_ms;
    bool outdated, renamed_provider, renamed_type, spot;
};

static char *file_of(const struct drawing *d, const struct draft *f)
{
    static const char *const types[] = {"t4", "cpu", "v100"};
    static const char *const has[] = {
        "{CPU: 8, GPU: 1}, accelerator_type: T4", "{CPU: 16}",
        "{CPU: 32, GPU: 4}, accelerator_type: V100"};
    static const double price[] = {1, 0.5, 5};
    static const char *const modes[] = {"off", "empty", "on"};
    const char *provider = f->renamed_provider ? "p" : "cloud-";
    struct buf b;

    buf_init(&b, 8192);
    buf_printf(
        &b, "cluster: played\nstate: /a/davit.db\n%s",
        d->s->world.head ? "head: {ray: {address: \"played:6379\"}}\n" : "");
    buf_printf(&b,
               "limits: {max_nodes: %u, idle_timeout: %us, start_timeout: %us, "
               "consolidate: %s, end_outdated: %s, think: %ums",
               f->max_nodes, f->idle_s, f->start_s, modes[f->consolidate],
               f->outdated ? "true" : "false", f->think_ms);
    if (f->cost)
        buf_printf(&b, ", max_cost_per_hour: %u", f->cost);
    buf_str(&b, "}\nproviders:\n");
    for (uint32_t i = 0; i < d->s->world.clouds; i++)
        buf_printf(&b, "  %s%c: {plugin: %s, cloud: %c}\n", provider,
                   'a' + (int)i, d->told ? "priced" : "played", 'a' + (int)i);
    buf_str(&b, "node_types:\n");
    for (uint32_t i = 0; i < d->types; i++) {
        buf_printf(&b, "  %s%s: {provider: %s%c, resources: %s", types[i],
                   f->renamed_type ? "-new" : "", provider,
                   'a' + (int)f->of_cloud[i], has[i]);
        if (!d->unpriced && !d->told)
            buf_printf(&b, ", price: %g", price[i] * (1 + f->dear));
        buf_printf(&b, ", max: %u%s}\n", f->max[i],
                   f->spot ? ", spot: true" : "");
    }
    return buf_take(&b);
}

static struct draft draft_draw(struct drawing *d)
{
    struct draft f = {.max_nodes = between(d, 2, 12),
                      .cost = one_in(d, 4) ? between(d, 3, 20) : 0,
                      .idle_s = between(d, 30, 600),
                      .start_s = between(d, 120, 900),
                      .consolidate = one_in(d, 4) ? between(d, 1, 2) : 0,
                      .outdated = one_in(d, 4),
                      .think_ms = one_in(d, 8) ? 500 : 0,
                      .spot = one_in(d, 3)};

    if (d->s->plain)
        f.max_nodes = 20; /* so that buying twice shows */
    for (uint32_t i = 0; i < 3; i++) {
        f.max[i] = d->s->plain ? between(d, 4, 16) : between(d, 1, 6);
        f.of_cloud[i] = below(d, d->s->world.clouds);
    }
    return f;
}

static void edit_draw(struct drawing *d, const struct draft *f, struct draft *x)
{
    *x = *f;
    switch (below(d, 6)) {
    case 0: x->max[below(d, 3)] = 1; break;
    case 1: x->renamed_provider = true; break;
    case 2: x->renamed_type = true; break;
    case 3: x->idle_s = between(d, 5, 60); break;
    case 4: x->max_nodes = between(d, 1, f->max_nodes); break;
    default: x->cost = between(d, 1, 3); break;
    }
}

/* Files that a hurried hand saves. */
static void edits_draw(struct drawing *d, struct draft f)
{
    struct script *s = d->s;
    uint32_t n = between(d, 1, FILES_MOST - 1);

    for (uint32_t i = 0; i < n; i++) {
        uint64_t chance = hash_number(hash_number(HASH_SEED, s->world.seed), i);
        struct draft x;

        edit_draw(d, &f, &x);
        x.dear = chance % 4 == 0; /* what else is drawn stays as it is */
        s->edited = s->edited || x.renamed_provider || x.renamed_type;
        s->files[s->n_files++] = file_of(d, &x);
    }
}

/* ---- weather */

static uint32_t often(struct drawing *d)
{
    return one_in(d, 4) ? 1000 : between(d, 10, 600);
}

/* Where buying twice shows: lists that lag, most calls lost on their way. */
static void plain_draw(struct drawing *d, struct cloud_weather *w)
{
    if (one_in(d, 2))
        w->list_lag_ms = between(d, SETTLE_MS / 2, SETTLE_MS);
    if (one_in(d, 4)) {
        w->lost_request = between(d, 500, 900);
        w->lost_reply = 1000 - w->lost_request;
    }
}

static uint32_t doubts_most = UINT32_MAX;

static const char *const doubt_words[] = {
#define WORD_(name, word) word,
    DOUBTS(WORD_)
#undef WORD_
};

bool draw_without(const char *word)
{
    for (uint32_t i = 0; i < sizeof doubt_words / sizeof *doubt_words; i++)
        if (strcmp(doubt_words[i], word) == 0) {
            doubts_most &= ~(UINT32_C(1) << i);
            return true;
        }
    return false;
}

bool draw_allows(enum doubt d)
{
    return doubts_most >> d & 1;
}

void draw_doubts(uint32_t most)
{
    doubts_most = most;
}

static void doubts_draw(struct drawing *d, struct cloud_weather *w)
{
    if (has(d, DOUBT_LIES))
        w->lies = more_below(d, 3) ? 1 + more_below(d, 100) : 0;
    if (has(d, DOUBT_DROPS))
        w->drops = more_below(d, 3) ? 1 + more_below(d, 100) : 0;
    w->other_ids = has(d, DOUBT_IDS) && more_below(d, 2);
}

/* One kind, sometimes two at once. */
static struct cloud_weather weather_draw(struct drawing *d)
{
    struct cloud_weather w = {0};

    if (d->steady && one_in(d, 6)) { /* for longer than anybody would wait */
        w.end_hangs = 1000;
        w.hang_ms = between(d, HOUR, 5 * HOUR);
        return w;
    }
    do {
        uint32_t kind;

        do
            kind = below(d, KINDS);
        while (!(d->kinds >> kind & 1));
        switch (kind) {
        case 0: w.down = true; break;
        case 1: w.auth = true; break;
        case 2: w.auth_ends = true; break;
        case 3: w.broken = true; break;
        case 4: w.lists_fail = true; break;
        case 5: w.throttled = often(d); break;
        case 6: w.lost_request = often(d); break;
        case 7: w.lost_reply = often(d); break;
        case 8: w.late_effect = often(d); break;
        case 9: w.doubled = often(d); break;
        case 10:
            w.hangs = often(d);
            w.hang_ms = lasts(d, 10 * SECOND, 3 * HOUR);
            break;
        case 11:
            w.end_hangs = often(d);
            w.hang_ms = lasts(d, MINUTE, 5 * HOUR);
            break;
        case 12: w.cut_list = between(d, 50, 400); break;
        case 13: w.partial = often(d); break;
        case 14: w.async = true; break;
        case 15: w.invalid_ends = true; break;
        case 16: w.list_lag_ms = between(d, 1, SETTLE_MS); break;
        case 17: w.stockout = (uint32_t)next(d); break;
        case 18: w.quota = between(d, 1, 6); break;
        case 19: w.start_fails = often(d); break;
        case 20: w.no_gpu = often(d); break;
        case 21: w.never_joins = often(d); break;
        case 22: w.refuses_end = often(d); break;
        case 23: w.auth_launches = true; break;
        case 24: w.made_late_ms = between(d, 10 * SECOND, 2 * MINUTE); break;
        default: w.boot_factor = between(d, 2, 40); break;
        }
    } while (one_in(d, 3));
    if (d->s->plain)
        plain_draw(d, &w);
    if (d->told && one_in(d, 2))
        w.dear = between(d, 30, 400);
    doubts_draw(d, &w);
    return w;
}

/* ---- what happens */

static void ask_draw(struct drawing *d, struct happening *h)
{
    uint32_t n = between(d, 1, 4);

    h->a = below(d, d->s->plain ? 3 : OWNERS);
    if (one_in(d, 4))
        snprintf(h->text, sizeof h->text, "{\"bundles\": []}");
    else if (d->s->plain)
        snprintf(
            h->text, sizeof h->text,
            "{\"bundles\": [{\"resources\": {\"GPU\": 1}, \"count\": %u}]}", n);
    else if (one_in(d, 4))
        snprintf(h->text, sizeof h->text,
                 "{\"bundles\": [{\"resources\": {\"GPU\": %u}}], \"ttl\": "
                 "\"%um\"}",
                 n, between(d, 1, 120));
    else if (one_in(d, 3))
        snprintf(h->text, sizeof h->text, "{\"num_cpus\": %u}", 4 * n);
    else
        snprintf(h->text, sizeof h->text,
                 "{\"bundles\": [{\"GPU\": 1}, {\"CPU\": %u}]}", 2 * n);
}

static void happening_draw(struct drawing *d, struct happening *h)
{
    h->a = below(d, 1 << 16);
    switch (h->kind) {
    case HAPPENS_WEATHER:
        h->weather = one_in(d, 4) ? (struct cloud_weather){0} : weather_draw(d);
        break;
    case HAPPENS_HEAD:
        h->a = one_in(d, 2) ? HEAD_WELL : below(d, HEAD_OTHER);
        if (has(d, DOUBT_HEADS) && more_below(d, 2))
            h->a = HEAD_OTHER;
        break;
    case HAPPENS_FORGETS: h->a = SECOND << more_below(d, 12); break;
    case HAPPENS_NAMES:
        h->b = more_below(d, 3);
        h->c = SECOND << more_below(d, 12);
        break;
    case HAPPENS_LOSSY: h->a = one_in(d, 2) ? 0 : between(d, 100, 1000); break;
    case HAPPENS_DIES: h->b = one_in(d, 5) ? between(d, 2, 6) : 1; break;
    case HAPPENS_TAKEN: h->b = between(d, 5 * SECOND, 2 * MINUTE); break;
    case HAPPENS_REBOOTS: h->b = between(d, 10 * SECOND, 5 * MINUTE); break;
    case HAPPENS_ASKS: ask_draw(d, h); break;
    case HAPPENS_TASKS:
        h->a = between(d, 1, 8);
        h->b = one_in(d, 6);
        h->c = lasts(d, 30 * SECOND, 2 * HOUR);
        snprintf(h->text, sizeof h->text, "%s", one_in(d, 2) ? "GPU" : "CPU");
        break;
    case HAPPENS_FILE: h->a = below(d, d->s->n_files); break;
    case HAPPENS_KILLED:
        h->a = below(d, 2);
        h->b = one_in(d, 2) ? 0 : below(d, 1 << 30);
        break;
    case HAPPENS_KILLED_AT:
        h->a = below(d, 60);
        h->b = one_in(d, 2) ? 0 : below(d, 1 << 30);
        break;
    case HAPPENS_FULL:
    case HAPPENS_READONLY: h->a = one_in(d, 2); break;
    case HAPPENS_DISK_FAILS: h->a = below(d, 60); break;
    case HAPPENS_CLOCK:
        h->a = lasts(d, SECOND, 2 * HOUR);
        h->b = below(d, 2);
        break;
    case HAPPENS_SECOND:
    case HAPPENS_VERSION: h->a = one_in(d, 2); break;
    case HAPPENS_SLEEPS: h->a = lasts(d, SECOND, 5 * HOUR); break;
    case HAPPENS_LEADER:
        h->a = below(d, 5);
        h->b = lasts(d, SECOND, HOUR);
        break;
    default: break;
    }
}

/* What is never there without a head, or in a plain world. */
static bool has_place(const struct drawing *d, enum happening_kind k)
{
    switch (k) {
    case HAPPENS_HEAD:
    case HAPPENS_LOSSY:
    case HAPPENS_SESSION:
    case HAPPENS_RAYLET:
    case HAPPENS_TASKS: return d->s->world.head;
    case HAPPENS_ADDED: return !d->s->plain;
    case HAPPENS_FILE: return d->edits;
    case HAPPENS_SPOILS: return false; /* nth.c */
    case HAPPENS_NAMES: return d->s->world.head && has(d, DOUBT_NAMES);
    case HAPPENS_FORGETS: return d->s->world.head && has(d, DOUBT_FORGETS);
    case HAPPENS_SECOND: return !d->s->plain;
    case HAPPENS_FULL: /* of a leader's journal there is no file */
    case HAPPENS_READONLY:
    case HAPPENS_DISK_FAILS:
    case HAPPENS_KILLED_AT:
    case HAPPENS_VERSION: return !d->s->world.ha;
    default: return true;
    }
}

/* Ends that hang, launches that are refused: what a restart would heal shows
 * only where there is none. */
enum { HEALED_BY_A_START = 1 << 11 | 1 << 23 };

static bool restarts(enum happening_kind k)
{
    return k == HAPPENS_KILLED || k == HAPPENS_KILLED_AT ||
           k == HAPPENS_RESTARTS || k == HAPPENS_VERSION;
}

static void rates_draw(struct drawing *d)
{
    d->steady = one_in(d, 3);
    for (int k = 0; k < HAPPENINGS; k++) {
        bool demand = k == HAPPENS_ASKS || k == HAPPENS_TASKS;

        if ((k == HAPPENS_LEADER && !d->s->world.ha) || k == HAPPENS_TOUCHED ||
            k == HAPPENS_STORE)
            continue; /* what else is drawn from a seed stays as it is */
        if (k == HAPPENS_NAMES || k == HAPPENS_FORGETS) {
            d->rates[k] = has_place(d, k) ? 1 + more_below(d, 20) : 0;
            d->all += d->rates[k];
            continue;
        }
        d->rates[k] = one_in(d, 3) ? 0 : between(d, 1, 10);
        if (demand)
            d->rates[k] = between(d, 10, 30);
        if (k == HAPPENS_WEATHER)
            d->rates[k] = between(d, 10, 40);
        if (k == HAPPENS_LEADER)
            d->rates[k] = between(d, 5, 20);
        if (k == HAPPENS_CALM)
            d->rates[k] = between(d, 3, 15);
        if (!has_place(d, k) || (d->steady && restarts(k)))
            d->rates[k] = 0;
        d->all += d->rates[k];
    }
    do
        d->kinds = (uint32_t)next(d) & (uint32_t)next(d);
    while (!(d->kinds & ((1u << KINDS) - 1)));
    if (d->steady)
        d->kinds |= HEALED_BY_A_START;
}

static enum happening_kind kind_draw(struct drawing *d)
{
    uint32_t at = below(d, d->all);
    int k = 0;

    while (at >= d->rates[k])
        at -= d->rates[k++];
    return k;
}

static void list_draw(struct drawing *d)
{
    struct script *s = d->s;
    bool brief = s->world.seed < SEEDS_LONG;
    uint32_t least = lasts(d, 2 * SECOND, brief ? MINUTE : 10 * MINUTE);
    uint32_t most = brief ? 10 * MINUTE : 3 * HOUR, room = 0;
    int64_t at = MINUTE;

    s->storm_ms = brief ? between(d, 10 * MINUTE, 90 * MINUTE)
                        : (int64_t)between(d, 2, 30) * HOUR;
    while (at < s->storm_ms) {
        if (s->n == room) {
            room = room ? 2 * room : 64;
            s->v = mem_resize(s->v, room, sizeof *s->v);
        }
        s->v[s->n] = (struct happening){.at_ms = at, .kind = kind_draw(d)};
        happening_draw(d, &s->v[s->n++]);
        at += lasts(d, least, most);
    }
}

/* What takes up to a minute now and then; what else is drawn stays as it is. */
static uint32_t slow_draw(uint64_t seed, uint32_t which)
{
    uint64_t x = hash_number(hash_number(HASH_SEED, seed), 1000 + which);

    return x % 6 || !draw_allows(DOUBT_SLOW) ? 0 : 5 + (uint32_t)(x / 6 % 100);
}

void script_draw(struct script *s, uint64_t seed)
{
    struct drawing d = {.chance = seed * 0x2545f4914f6cdd1d, .s = s};
    struct world_opts *o = &s->world;
    struct draft f;

    memset(s, 0, sizeof *s);
    s->plain = one_in(&d, 3);
    o->seed = seed;
    o->ha = hash_number(HASH_SEED, seed) % 6 == 0;
    o->head = !s->plain && !one_in(&d, 4);
    o->waits = !one_in(&d, 8);
    o->boot_least_ms = between(&d, SECOND, 30 * SECOND);
    o->boot_most_ms = o->boot_least_ms + lasts(&d, SECOND, 4 * MINUTE);
    o->end_most_ms = lasts(&d, SECOND, 20 * MINUTE);
    o->clouds = s->plain ? 1 : between(&d, 1, WORLD_CLOUDS);
    d.types = s->plain ? 1 : between(&d, 1, 3);
    d.edits = !s->plain && one_in(&d, 2);
    d.more = hash_number(hash_number(HASH_SEED, seed), 49);
    if (more_below(&d, 2)) /* else no doubt at all */
        d.doubts = (uint32_t)(next_of(&d.more) & next_of(&d.more));
    d.doubts &= doubts_most;
    o->hosts = has(&d, DOUBT_HOSTS) ? 1 + more_below(&d, 12) : 0;
    if (has(&d, DOUBT_IDS) && more_below(&d, 2))
        o->boot_least_ms = o->boot_most_ms = 0; /* answers have them running */
    o->addressed = has(&d, DOUBT_NAMES) && more_below(&d, 2);
    o->kube = o->head && hash_number(HASH_SEED, seed) % 2 &&
              draw_allows(DOUBT_KUBE);
    o->waits = o->waits || o->kube;
    d.unpriced = hash_number(HASH_SEED, seed) % 7 == 0;
    d.told = hash_number(HASH_SEED, seed) % 7 == 1;
    f = draft_draw(&d);
    if (d.told && !f.cost)
        f.cost = between(&d, 3, 20);
    s->files[s->n_files++] = file_of(&d, &f);
    if (d.edits)
        edits_draw(&d, f);
    o->settings = s->files[0];
    o->pause_ms = one_in(&d, 2) ? 0 : lasts(&d, 5 * MINUTE, HOUR);
    o->busy = one_in(&d, 4) ? between(&d, 10, 300) : 0;
    o->slow_syncs = slow_draw(seed, 0);
    o->slow_lines = slow_draw(seed, 1);
    o->slow_closings = 5 * slow_draw(seed, 2);
    s->leave = one_in(&d, 2);
    s->gone = o->clouds > 1 && one_in(&d, 4) ? between(&d, 1, o->clouds) : 0;
    rates_draw(&d);
    list_draw(&d);
    rare_draw(&o->rare, seed);
    script_draw_more(s, seed);
}
