/*
 * doc.c - the tables of docs/config.md, which is part of the program, as rows.
 *
 * A table of keys is one whose heading is `| key | value | default | meaning |`.
 * The file is named relative to the root of the project, where make runs.
 */
#include <string.h>

#include "explain.h"

__asm__(".pushsection .rodata\n"
        "config_doc_start:\n"
        ".incbin \"docs/config.md\"\n"
        "config_doc_end:\n"
        ".byte 0\n"
        ".popsection\n");
extern const char config_doc_start[],
    config_doc_end[] __attribute__((visibility("hidden")));

static const char heading[] = "| key | value | default | meaning |";

/* How the document shortens a key, and its place in full. */
static const struct {
    const char *in_doc, *in_full;
} places[] = {
    {"ray.", "head.ray."},
    {"kubernetes.audience", "api.kubernetes.audience"},
    {"kubernetes.cache", "api.kubernetes.cache"},
    {"kubernetes.namespaces", "head.kubernetes.namespaces"},
    {"kubernetes.namespace", "api.kubernetes.namespace"},
    {"kubernetes.", "head.kubernetes."},
    {"tls.", "api.tls."},
    {"consolidate.", "limits.consolidate."},
    {"idle_timeouts[].", "limits.idle_timeouts[]."},
    {"quota.", "queues.NAME.quota."},
};

static const char *in_full(struct arena *a, const char *key)
{
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        size_t n = strlen(places[i].in_doc);
        if (strncmp(key, places[i].in_doc, n) == 0)
            return arena_printf(a, "%s%s", places[i].in_full, key + n);
    }
    return key;
}

/* "[draining](draining.md)" becomes "draining (docs/draining.md)"; a link into
 * the page itself, and marks, are dropped. */
static char *plain(struct arena *a, const char *s, const char *end)
{
    char *out = arena_alloc(a, 8 * (size_t)(end - s) + 8), *o = out;

    while (s < end) {
        const char *mid = *s == '[' ? strstr(s, "](") : NULL;
        const char *stop = mid ? strchr(mid, ')') : NULL;

        if (stop && stop < end) {
            memcpy(o, s + 1, (size_t)(mid - s - 1));
            o += mid - s - 1;
            if (mid[2] != '#')
                o = stpcpy(o,
                           arena_printf(a, " (docs/%.*s)",
                                        (int)strcspn(mid + 2, "#)"), mid + 2));
            s = stop + 1;
        } else if (*s == '`' || (s[0] == '*' && s[1] == '*')) {
            s += *s == '`' ? 1 : 2;
        } else {
            *o++ = *s++;
        }
    }
    *o = '\0';
    return out;
}

/* The next cell of a row, which begins behind its '|'; moves on to the next. */
static const char *cell(struct arena *a, const char **at, const char *end)
{
    const char *from = *at, *to = from;

    while (to < end && (*to != '|' || to[-1] == '\\'))
        to++;
    *at = to < end ? to + 1 : end;
    while (from < to && *from == ' ')
        from++;
    while (to > from && to[-1] == ' ')
        to--;
    return plain(a, from, to);
}

static struct explained row(struct arena *a, const char *s, const char *end)
{
    struct explained e;

    s++;
    e.key = in_full(a, cell(a, &s, end));
    e.takes = cell(a, &s, end);
    e.dflt = cell(a, &s, end);
    e.meaning = cell(a, &s, end);
    e.example = explain_example(e.key);
    return e;
}

struct explained_list explain_all(struct arena *a)
{
    VEC(struct explained) rows = {0};
    bool in = false;

    for (const char *s = config_doc_start; s < config_doc_end;) {
        const char *end = strchr(s, '\n');

        end = end ? end : config_doc_end;
        if (strncmp(s, heading, strlen(heading)) == 0)
            in = true;
        else if (*s != '|')
            in = false;
        else if (in && strncmp(s, "|---", 4) != 0)
            VEC_PUSH(a, &rows, row(a, s, end));
        s = end + 1;
    }
    return (struct explained_list){rows.v, rows.n};
}

/* Equal, where NAME in the key stands for any one name. */
static bool same(const char *key, const char *asked)
{
    while (*key && *asked) {
        if (strncmp(key, "NAME", 4) == 0) {
            size_t n = strcspn(asked, ".");
            if (n == 0)
                return false;
            key += 4;
            asked += n;
        } else if (strncmp(key, "[]", 2) == 0 && *asked != '[') {
            key += 2;
        } else if (*key++ != *asked++) {
            return false;
        }
    }
    return !*key && !*asked;
}

bool explain_names(const struct explained *e, const char *asked)
{
    for (const char *k = e->key; k; k = strchr(k, '.')) {
        k += *k == '.';
        if (same(k, asked))
            return true;
    }
    return false;
}
