/*
 * spent.c - see spent.h.
 *
 * A mark's value in the journal: its second, and the counters' text.
 */
#include "spent.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"
#include "../../base/clock.h"
#include "../figures/spending.h"

enum {
    HOUR_S = 3600,
    DAY_S = 24 * HOUR_S,
    TEXT_MAX = 32 << 10, /* with more series there is no mark */
    FIELDS = 5,
};

void spent_init(struct spent *s, struct env *env)
{
    *s = (struct spent){.env = env};
    pthread_mutex_init(&s->lock, NULL);
}

static void marks_free(struct spent_mark *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        free(v[i].text);
}

void spent_done(struct spent *s)
{
    marks_free(s->hours, SPENT_HOURS);
    marks_free(s->days, SPENT_DAYS);
    pthread_mutex_destroy(&s->lock);
}

/* ---- the journal */

static void key_of(char kind, uint32_t place, char ret[24])
{
    snprintf(ret, 24, "spent.%c/%02u", kind, place);
}

static void marks_load(struct spent *s, char kind, struct spent_mark *v,
                       uint32_t n)
{
    struct arena a = {0};
    const char *text;
    char key[24], *end;

    for (uint32_t i = 0; i < n; i++) {
        key_of(kind, i, key);
        if (journal_value(s->env->journal, key, &a, &text, NULL) != ST_OK ||
            !*text)
            continue;
        v[i].at_s = strtoll(text, &end, 10);
        if (v[i].at_s <= 0 || *end != '\n')
            continue; /* of another version */
        free(v[i].text);
        v[i].text = mem_strdup(end + 1);
        if (v[i].at_s > s->last_s)
            s->last_s = v[i].at_s;
    }
    arena_done(&a);
}

void spent_load(struct spent *s)
{
    marks_load(s, 'h', s->hours, SPENT_HOURS);
    marks_load(s, 'd', s->days, SPENT_DAYS);
}

static void mark_put(struct spent *s, char kind, struct spent_mark *v,
                     uint32_t place, int64_t at_s, const char *text)
{
    char key[24];
    struct buf b;

    pthread_mutex_lock(&s->lock);
    free(v[place].text);
    v[place] = (struct spent_mark){at_s, mem_strdup(text)};
    pthread_mutex_unlock(&s->lock);
    key_of(kind, place, key);
    buf_init(&b, TEXT_MAX + 32);
    buf_printf(&b, "%" PRId64 "\n%s", at_s, text);
    /* The commit tells when it fails. */
    if (s->env->journal)
        journal_put_value(s->env->journal, key, b.s, NULL);
    buf_done(&b);
}

/* A clock that was set back writes none before it is where it was. */
void spent_see(struct spent *s)
{
    int64_t now_s = s->env->now_ms / 1000;
    struct buf b;

    if (s->last_s / HOUR_S >= now_s / HOUR_S)
        return;
    buf_init(&b, TEXT_MAX);
    spending_text(&s->env->metrics.figures, &b);
    if (!b.full) {
        const char *text = b.n ? b.s : "";

        if (s->last_s / DAY_S < now_s / DAY_S)
            mark_put(s, 'd', s->days, (uint32_t)(now_s / DAY_S % SPENT_DAYS),
                     now_s, text);
        mark_put(s, 'h', s->hours, (uint32_t)(now_s / HOUR_S % SPENT_HOURS),
                 now_s, text);
    }
    s->last_s = now_s;
    buf_done(&b);
}

/* ---- reading */

static void mark_look(const struct spent_mark *v, uint32_t n, int64_t at_s,
                      const struct spent_mark **before,
                      const struct spent_mark **first)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!v[i].text)
            continue;
        if (v[i].at_s <= at_s && (!*before || v[i].at_s > (*before)->at_s))
            *before = &v[i];
        if (!*first || v[i].at_s < (*first)->at_s)
            *first = &v[i];
    }
}

/* The last at or before then, else the first; NULL: there is none. */
static const struct spent_mark *mark_at(const struct spent *s, int64_t at_s)
{
    const struct spent_mark *before = NULL, *first = NULL;

    mark_look(s->hours, SPENT_HOURS, at_s, &before, &first);
    mark_look(s->days, SPENT_DAYS, at_s, &before, &first);
    return before ? before : first;
}

/* "KEY\tNUMBER": the key's length; 0: it is none. */
static size_t key_length(const char *line)
{
    size_t n = strcspn(line, "\n");

    while (n > 0 && line[n - 1] != '\t')
        n--;
    return n;
}

/* What the series had in the other text; 0: it was not there. */
static int64_t number_in(const char *text, const char *line, size_t key)
{
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n')
        if (strncmp(at, line, key) == 0 && key_length(at) == key)
            return strtoll(at + key, NULL, 10);
    return 0;
}

static bool line_read(const char *line, size_t key, struct arena *a,
                      struct spent_line *ret)
{
    char *copy = arena_strndup(a, line, key), *save;
    const char *field[FIELDS] = {"", "", "", "", ""};
    uint32_t n = 0;

    for (char *at = copy; (save = strchr(at, '\t')) && n < FIELDS;
         at = save + 1) {
        *save = '\0';
        field[n++] = at;
    }
    *ret = (struct spent_line){.family = (uint32_t)strtoul(field[0], NULL, 10)};
    for (uint32_t i = 0; i < 3; i++)
        ret->label[i] = field[i + 1];
    return n > 1 && ret->family < SPENT_FAMILIES;
}

uint32_t spent_read(struct spent *s, int64_t from_s, int64_t until_s,
                    struct arena *a, const struct spent_line **ret,
                    int64_t *ret_from, int64_t *ret_until)
{
    VEC(struct spent_line) all = {0};
    const struct spent_mark *from, *until;
    int64_t now_s = clock_wall_ms() / 1000;
    const char *old = "", *new;
    struct buf now;

    buf_init(&now, 1 << 20);
    spending_text(&s->env->metrics.figures, &now);
    new = now.n ? now.s : "";
    *ret_from = *ret_until = now_s;
    pthread_mutex_lock(&s->lock);
    from = mark_at(s, from_s);
    if (from) {
        *ret_from = from->at_s;
        old = arena_strdup(a, from->text);
    }
    if (from && until_s < now_s) {
        until = mark_at(s, until_s);
        *ret_until = until->at_s > from->at_s ? until->at_s : from->at_s;
        new = arena_strdup(a,
                           until->at_s > from->at_s ? until->text : from->text);
    }
    pthread_mutex_unlock(&s->lock);
    for (const char *at = new; from &&*at;
         at += strcspn(at, "\n"), at += *at == '\n') {
        size_t key = key_length(at);
        struct spent_line x;

        if (!key || !line_read(at, key, a, &x))
            continue;
        x.nanos = strtoll(at + key, NULL, 10) - number_in(old, at, key);
        if (x.nanos > 0)
            VEC_PUSH(a, &all, x);
    }
    buf_done(&now);
    *ret = all.v;
    return all.n;
}
