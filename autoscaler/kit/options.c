/*
 * options.c - see options.h.  Not written with the daemon's own parsers, which
 * a plug-in may not link against.
 */
#include "options.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int kit_error(struct davit_error *e, enum davit_status s, const char *code,
              const char *fmt, ...)
{
    char of[sizeof e->code], text[sizeof e->text]; /* both may be of *e */
    va_list ap;
    if (!e)
        return (int)s;
    snprintf(of, sizeof of, "%s", code);
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    memcpy(e->code, of, strlen(of) + 1);
    memcpy(e->text, text, strlen(text) + 1);
    return (int)s;
}

const char *kit_taint_effect(const char *text)
{
    static const char *const known[][2] = {
        {"NO_SCHEDULE", "NoSchedule"},
        {"NO_EXECUTE", "NoExecute"},
        {"PREFER_NO_SCHEDULE", "PreferNoSchedule"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(text, known[i][0]) == 0 || strcmp(text, known[i][1]) == 0)
            return known[i][1];
    return NULL;
}

const char *kit_find(const struct davit_kv *kv, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(kv[i].key, key) == 0)
            return kv[i].value;
    return NULL;
}

bool kit_duration(const char *text, int64_t *ret_ms)
{
    static const struct {
        const char *unit;
        double ms;
    } units[] = {{"", 1000},  {"ms", 1},     {"s", 1000},
                 {"m", 60e3}, {"h", 3600e3}, {"d", 86400e3}};
    if (!isdigit((unsigned char)text[0]))
        return false;
    size_t digits = strspn(text, "0123456789.");
    char number[32];
    if (digits >= sizeof number)
        return false;
    memcpy(number, text, digits);
    number[digits] = '\0';
    char *end;
    double v = strtod(number, &end);
    if (*end != '\0')
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(text + digits, units[i].unit) != 0)
            continue;
        v *= units[i].ms;
        if (v > 3650.0 * 86400e3)
            return false;
        *ret_ms = (int64_t)(v + 0.5);
        return true;
    }
    return false;
}

bool kit_number(const char *text, uint32_t max, uint32_t *ret)
{
    uint64_t v = 0;
    if (text[0] == '\0')
        return false;
    for (; *text != '\0'; text++) {
        if (!isdigit((unsigned char)*text))
            return false;
        v = v * 10 + (uint64_t)(*text - '0');
        if (v > max)
            return false;
    }
    *ret = (uint32_t)v;
    return true;
}

/* ---- the table */

#define OPTIONS_MAX 64
#define TYPES "types."
#define TEN_YEARS_MS (3650 * INT64_C(86400000))

int kit_type_error(struct davit_error *e, const struct davit_node_type *t,
                   const char *key, const char *fmt, ...)
{
    va_list ap;
    char text[sizeof e->text];
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    kit_error(e, DAVIT_INVALID, "", "node type %.60s: %s", t->name, text);
    if (e)
        snprintf(e->code, sizeof e->code, "%s%s%s", t->name, key[0] ? "." : "",
                 key);
    return DAVIT_INVALID;
}

/* Host as in a URL, IPv6 in brackets; 16 bytes, IPv4 as ::ffff:a.b.c.d. */
static bool address_of(const char *host, size_t n, struct in6_addr *ret)
{
    char name[64];
    struct in_addr v4;
    bool v6 = n > 2 && host[0] == '[' && host[n - 1] == ']';

    if (n >= sizeof name)
        return false;
    snprintf(name, sizeof name, "%.*s", (int)(v6 ? n - 2 : n), host + v6);
    if (v6)
        return inet_pton(AF_INET6, name, ret) == 1;
    if (inet_pton(AF_INET, name, &v4) != 1)
        return false;
    memset(ret, 0, sizeof *ret);
    ret->s6_addr[10] = ret->s6_addr[11] = 0xff;
    memcpy(ret->s6_addr + 12, &v4, 4);
    return true;
}

/* Where metadata services and agents are: AWS, Azure and Google; tasks of ECS,
 * pods of EKS; GKE's own. */
bool kit_host_link_local(const char *host, size_t n)
{
    static const char *const known[] = {"169.254.169.254", "169.254.170.2",
                                        "169.254.170.23",  "169.254.169.252",
                                        "[fd00:ec2::254]", "[fd00:ec2::23]"};
    struct in6_addr a, b;

    if (!address_of(host, n, &a))
        return false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (address_of(known[i], strlen(known[i]), &b) &&
            memcmp(&a, &b, sizeof a) == 0)
            return true;
    return false;
}

bool kit_host_here(const char *host, size_t n)
{
    struct in6_addr a;

    if (n == 9 && strncasecmp(host, "localhost", n) == 0)
        return true;
    if (kit_host_link_local(host, n))
        return true;
    return address_of(host, n, &a) &&
           (IN6_IS_ADDR_LOOPBACK(&a) ||
            (IN6_IS_ADDR_V4MAPPED(&a) && a.s6_addr[12] == 127));
}

bool kit_url_safe(const char *url)
{
    bool tls = strncmp(url, "https://", 8) == 0;
    if (!tls && strncmp(url, "http://", 7) != 0)
        return false;
    const char *host = url + (tls ? 8 : 7);
    size_t all = strcspn(host, "/?#");
    size_t n = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/?#");
    if (n > all)
        return false;
    size_t port = host[n] == ':' ? 1 + strspn(host + n + 1, "0123456789") : 0;
    return n > 0 && n + port == all && !memchr(host, '@', n) &&
           !memchr(host, '\\', n) && (tls || kit_host_here(host, n));
}

struct given { /* one value of one row */
    const struct kit_option *o;
    const char *key; /* as it was written */
    const char *rest, *value;
};

static int wrong(struct kit_reading *r, const struct given *g,
                 const char *must_be)
{
    if (r->type)
        return kit_type_error(r->error, r->type, g->key,
                              "%.60s must be %s, got \"%.60s\"", g->key,
                              must_be, g->value);
    return kit_error(r->error, DAVIT_INVALID, g->key,
                     "%.60s must be %s, got \"%.60s\"", g->key, must_be,
                     g->value);
}

/* allowed: ranges and single bytes, "a-z 0-9 - _". */
static bool is_of(char c, const char *allowed)
{
    for (const char *w = allowed; *w; w += strcspn(w, " "), w += *w == ' ')
        if (w[1] == '-' && w[2] && w[2] != ' ' ? c >= w[0] && c <= w[2]
                                               : c == w[0])
            return true;
    return false;
}

static int name_check(struct kit_reading *r, const struct given *g)
{
    const char *allowed = g->o->allowed;
    size_t most = g->o->max ? (size_t)g->o->max : 255, n = 0;
    bool good = strlen(g->value) <= most;
    char says[120];
    for (const char *c = g->value; *c && good; c++)
        good = is_of(*c, allowed);
    if (good)
        return DAVIT_OK;
    n = (size_t)snprintf(says, sizeof says, "1 to %zu of ", most);
    for (; *allowed && n + 3 < sizeof says; allowed++) {
        if (*allowed == ' ')
            says[n++] = ',';
        says[n++] = *allowed;
    }
    says[n] = '\0';
    return wrong(r, g, says);
}

static int text_take(struct kit_reading *r, const struct given *g, char **at)
{
    char *text = *at = kit_keep_text(r->keep, g->value);
    if (g->o->kind == KIT_NAME)
        return name_check(r, g);
    if (g->o->kind == KIT_TEXT)
        return DAVIT_OK;
    size_t n = strlen(text);
    while (n > 0 && text[n - 1] == '/')
        text[--n] = '\0';
    return kit_url_safe(text) && !strpbrk(text, " ?#") && n <= 500
               ? DAVIT_OK
               : wrong(r, g,
                       "a URL: https://HOST, or http:// on this machine only, "
                       "since a secret goes there");
}

static int choice_take(struct kit_reading *r, const struct given *g,
                       uint32_t *at)
{
    char says[200] = "one of ";
    size_t len = strlen(g->value), n = strlen(says);
    const char *between = "";
    uint32_t i = 0;
    for (const char *w = g->o->allowed; *w; i++) {
        size_t k = strcspn(w, "|");
        if (i >= g->o->min && k == len && strncasecmp(w, g->value, k) == 0) {
            *at = i;
            return DAVIT_OK;
        }
        if (i >= g->o->min && n < sizeof says) {
            n += (size_t)snprintf(says + n, sizeof says - n, "%s%.*s", between,
                                  (int)k, w);
            between = ", ";
        }
        w += k + (w[k] == '|');
    }
    return wrong(r, g, says);
}

static int number_take(struct kit_reading *r, const struct given *g,
                       uint32_t *at)
{
    char says[80];
    uint32_t max = g->o->max ? (uint32_t)g->o->max : UINT32_MAX;
    if (kit_number(g->value, max, at) && *at >= g->o->min)
        return DAVIT_OK;
    snprintf(says, sizeof says, "a whole number from %lld to %u",
             (long long)g->o->min, max);
    return wrong(r, g, says);
}

static void duration_say(int64_t ms, char *ret, size_t size)
{
    static const struct {
        int64_t ms;
        const char *unit;
    } units[] = {
        {86400000, "d"}, {3600000, "h"}, {60000, "m"}, {1000, "s"}, {1, "ms"}};
    size_t i = 0;
    while (ms % units[i].ms != 0)
        i++;
    snprintf(ret, size, "%lld%s", (long long)(ms / units[i].ms),
             ms > 0 ? units[i].unit : "");
}

static int duration_take(struct kit_reading *r, const struct given *g,
                         int64_t *at)
{
    char says[80], least[24], most[24];
    int64_t max = g->o->max ? g->o->max : TEN_YEARS_MS;
    if (!kit_duration(g->value, at))
        return wrong(r, g, "a duration such as 90s, 5m or 500ms");
    if (*at >= g->o->min && *at <= max)
        return DAVIT_OK;
    duration_say(g->o->min, least, sizeof least);
    duration_say(max, most, sizeof most);
    snprintf(says, sizeof says, "between %s and %s", least, most);
    return wrong(r, g, says);
}

static int take(struct kit_reading *r, const struct given *g)
{
    void *at = (char *)r->into + g->o->at;
    switch (g->o->kind) {
    case KIT_TEXT:
    case KIT_NAME:
    case KIT_URL: return text_take(r, g, at);
    case KIT_NUMBER: return number_take(r, g, at);
    case KIT_DURATION: return duration_take(r, g, at);
    case KIT_CHOICE: return choice_take(r, g, at);
    case KIT_FLAG:
        *(bool *)at = strcmp(g->value, "true") == 0;
        return *(bool *)at || strcmp(g->value, "false") == 0
                   ? DAVIT_OK
                   : wrong(r, g, "true or false");
    case KIT_READ: break;
    }
    int st = g->o->read(r, g->rest, g->value);
    if (st != DAVIT_OK && r->error)
        snprintf(r->error->code, sizeof r->error->code, "%s%s%s",
                 r->type ? r->type->name : "", r->type ? "." : "", g->key);
    return st;
}

/* The row's key without "types.", NULL when it is of the other kind. */
static const char *key_of(const struct kit_option *o, bool of_type)
{
    size_t n = strlen(TYPES);
    bool types = strncmp(o->key, TYPES, n) == 0;
    return types != of_type ? NULL : types ? o->key + n : o->key;
}

/* A KIT_READ row fits its key, the elements of its list, and what its '*'
 * stands for; *ret_rest is what follows. */
static bool fits(const char *pattern, const char *key, const char **ret_rest)
{
    size_t n = strlen(pattern);
    bool star = n > 0 && pattern[n - 1] == '*';
    n -= star;
    if (strncmp(pattern, key, n) != 0)
        return false;
    *ret_rest = key + n;
    if (star || !key[n])
        return true;
    *ret_rest = key + n + 1;
    return key[n] == '.' && key[n + 1] &&
           strspn(key + n + 1, "0123456789") == strlen(key + n + 1);
}

static int each_read(struct kit_reading *r, const struct kit_option *o,
                     const char *pattern, const struct davit_kv *kv, size_t n)
{
    int st = DAVIT_OK;
    bool any = false;
    for (size_t i = 0; i < n && st == DAVIT_OK; i++) {
        struct given g = {o, kv[i].key, "", kv[i].value};
        if (!fits(pattern, kv[i].key, &g.rest))
            continue;
        any = true;
        st = take(r, &g);
    }
    if (!any && o->fallback)
        st = take(r, &(struct given){o, pattern, "", o->fallback});
    return st;
}

static const char *filled(const char *v)
{
    return v && v[0] ? v : NULL;
}

/* The value of a row that is no KIT_READ, NULL none; *from: its key. */
static const char *row_value(const struct kit_option *o, const char *key,
                             const struct davit_kv *kv, size_t n,
                             const char **from)
{
    const char *v = kit_find(kv, n, key);
    *from = key;
    if (!o->none)
        v = filled(v);
    if (!v && o->instead && (v = filled(kit_find(kv, n, o->instead))))
        *from = o->instead;
    if (!v && o->env)
        v = filled(getenv(o->env));
    return v ? v : o->fallback;
}

static int row_read(struct kit_reading *r, const struct kit_option *o,
                    const struct davit_kv *kv, size_t n)
{
    const char *key = key_of(o, r->type), *from;
    if (!key)
        return DAVIT_OK;
    if (o->kind == KIT_READ)
        return o->read ? each_read(r, o, key, kv, n) : DAVIT_OK;
    const char *v = row_value(o, key, kv, n, &from);
    return v ? take(r, &(struct given){o, from, "", v}) : DAVIT_OK;
}

/* All that are needed and not given, in one sentence. */
static int missing_tell(struct kit_reading *r, const struct kit_option *table,
                        const struct davit_kv *kv, size_t n)
{
    const struct kit_option *first = NULL;
    char names[160] = "";
    const char *from;
    int missing = 0;
    size_t len = 0;
    for (const struct kit_option *o = table; o->key; o++) {
        const char *key = key_of(o, r->type);
        if (!key || !o->needed || o->kind == KIT_READ ||
            row_value(o, key, kv, n, &from))
            continue;
        first = missing++ ? first : o;
        if (len < sizeof names)
            len += (size_t)snprintf(names + len, sizeof names - len, "%s%s",
                                    len ? ", " : "", key);
    }
    if (!missing)
        return DAVIT_OK;
    const char *key = key_of(first, r->type);
    return missing == 1 ? kit_error(r->error, DAVIT_INVALID, key,
                                    "%s is needed: %s", key, first->help)
                        : kit_error(r->error, DAVIT_INVALID, key,
                                    "%s are needed", names);
}

int kit_options_read(const struct kit_option *table, const struct davit_kv *kv,
                     size_t n, const struct davit_node_type *type, void *into,
                     struct kit_keep *keep, struct davit_error *e)
{
    struct kit_reading r = {into, keep, type, e};
    int st = DAVIT_OK;
    for (const struct kit_option *o = table; o->key && st == DAVIT_OK; o++)
        st = row_read(&r, o, kv, n);
    return st == DAVIT_OK ? missing_tell(&r, table, kv, n) : st;
}

const struct davit_kv *kit_options_help(const struct kit_option *table)
{
    static struct davit_kv shown[OPTIONS_MAX + 1];
    static char texts[OPTIONS_MAX][320];
    for (size_t i = 0; table[i].key && i < OPTIONS_MAX; i++) {
        const struct kit_option *o = &table[i];
        const char *parts[] = {o->instead, o->env, o->fallback};
        int n = snprintf(texts[i], sizeof texts[i], "%.200s%s", o->help,
                         o->needed ? " (needed)" : "");
        const char *before = " (default: ";
        for (int k = 0; k < 3; k++)
            if (parts[k] && parts[k][0]) {
                n += snprintf(texts[i] + n, sizeof texts[i] - (size_t)n,
                              "%s%s%.40s%s", before, k == 1 ? "$" : "",
                              parts[k], k == 0 ? ":" : "");
                before = ", else ";
            }
        if (before[0] == ',')
            snprintf(texts[i] + n, sizeof texts[i] - (size_t)n, ")");
        shown[i] = (struct davit_kv){o->key, texts[i]};
    }
    return shown;
}
