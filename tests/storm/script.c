/*
 * script.c - scripts as text.
 *
 *     world seed=1 head=1 waits=1 boot=10000-20000 end=10000 clouds=2 ...
 *     rare mail-late 100
 *     file
 *     | cluster: played
 *     at 61000 weather 0 0 0 down=1
 *     at 62000 asks 3 0 0 "{...}"
 */
#include "script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"

#define WEATHER_FIELDS(X) \
    X(down) \
    X(auth) \
    X(auth_ends) \
    X(auth_launches) \
    X(deaf_launches) \
    X(mute_launches) \
    X(made_late_ms) \
    X(broken) \
    X(lists_fail) \
    X(throttled) \
    X(lost_request) \
    X(lost_reply) \
    X(late_effect) \
    X(doubled) \
    X(hangs) \
    X(end_hangs) \
    X(hang_ms) \
    X(cut_list) \
    X(drops) \
    X(mute_ids) \
    X(lies) \
    X(other_ids) \
    X(partial) \
    X(async) \
    X(invalid_ends) \
    X(list_lag_ms) \
    X(stockout) \
    X(quota) \
    X(invalid) \
    X(lacks) \
    X(start_fails) \
    X(no_gpu) \
    X(never_joins) \
    X(refuses_end) \
    X(boot_factor) \
    X(dear) \
    X(restless) \
    X(dies_young)

static const char *const words[] = {
#define WORD_(kind, word) word,
    HAPPENING_MAP(WORD_)
#undef WORD_
};

void script_free(struct script *s)
{
    for (uint32_t i = 0; i < s->n_files; i++)
        free(s->files[i]);
    free(s->v);
}

/* ---- writing */

static void weather_write(const struct cloud_weather *w, FILE *f)
{
#define WRITE_(field) \
    if (w->field) \
        fprintf(f, " " #field "=%u", (unsigned)w->field);
    WEATHER_FIELDS(WRITE_)
#undef WRITE_
}

static void file_write(const char *text, FILE *f)
{
    fprintf(f, "file\n");
    while (*text) {
        int n = (int)strcspn(text, "\n");

        fprintf(f, "| %.*s\n", n, text);
        text += n + (text[n] == '\n');
    }
}

void script_write(const struct script *s, FILE *f)
{
    const struct world_opts *o = &s->world;

    fprintf(
        f,
        "world seed=%llu head=%d waits=%d boot=%u-%u end=%u clouds=%u "
        "storm=%lld plain=%d edited=%d pause=%u busy=%u leave=%d gone=%u ha=%d "
        "slow=%u,%u,%u judged=%d hosts=%u addressed=%d "
        "finds=%d kube=%d queue=%u\n",
        (unsigned long long)o->seed, o->head, o->waits, o->boot_least_ms,
        o->boot_most_ms, o->end_most_ms, o->clouds, (long long)s->storm_ms,
        s->plain, s->edited, o->pause_ms, o->busy, s->leave, s->gone, o->ha,
        o->slow_syncs, o->slow_lines, o->slow_closings, s->judged, o->hosts,
        o->addressed, o->finds, o->kube, o->queue_most_ms);
    rare_write(&o->rare, f);
    for (uint32_t i = 0; i < s->n_files; i++)
        file_write(s->files[i], f);
    for (uint32_t i = 0; i < s->n; i++) {
        const struct happening *h = &s->v[i];

        fprintf(f, "at %lld %s %u %u %u", (long long)h->at_ms, words[h->kind],
                h->a, h->b, h->c);
        if (h->kind == HAPPENS_WEATHER || h->kind == HAPPENS_SPOILS)
            weather_write(&h->weather, f);
        fprintf(f, "%s%s\n", *h->text ? " " : "", h->text);
    }
}

/* ---- reading */

static void weather_read(struct cloud_weather *w, const char *text)
{
    const char *at;

#define READ_(field) \
    if ((at = strstr(text, " " #field "="))) \
        w->field = (unsigned)strtoul(strchr(at, '=') + 1, NULL, 10);
    WEATHER_FIELDS(READ_)
#undef READ_
}

static bool world_read(struct script *s, const char *line)
{
    struct world_opts *o = &s->world;
    unsigned long long seed;
    long long storm;
    int head, waits, plain, edited, leave = 0, ha = 0, judged = 0,
                                    addressed = 0, finds = 0, kube = 0;

    if (sscanf(
            line,
            "world seed=%llu head=%d waits=%d boot=%u-%u end=%u clouds=%u "
            "storm=%lld plain=%d edited=%d pause=%u busy=%u leave=%d gone=%u "
            "ha=%d slow=%u,%u,%u judged=%d hosts=%u addressed=%d "
            "finds=%d kube=%d queue=%u",
            &seed, &head, &waits, &o->boot_least_ms, &o->boot_most_ms,
            &o->end_most_ms, &o->clouds, &storm, &plain, &edited, &o->pause_ms,
            &o->busy, &leave, &s->gone, &ha, &o->slow_syncs, &o->slow_lines,
            &o->slow_closings, &judged, &o->hosts, &addressed, &finds, &kube,
            &o->queue_most_ms) < 10) /* older ones end there */
        return false;
    o->seed = seed;
    o->head = head;
    o->ha = ha;
    o->addressed = addressed;
    o->finds = finds;
    o->kube = kube;
    o->waits = waits;
    s->storm_ms = storm;
    s->plain = plain;
    s->edited = edited;
    s->leave = leave;
    s->judged = judged;
    return true;
}

static bool happening_read(struct script *s, const char *line)
{
    struct happening h = {0};
    char word[32];
    long long at;
    int end = 0;

    if (sscanf(line, "at %lld %31s %u %u %u%n", &at, word, &h.a, &h.b, &h.c,
               &end) != 5)
        return false;
    h.at_ms = at;
    for (h.kind = 0; h.kind < HAPPENINGS && strcmp(words[h.kind], word) != 0;)
        h.kind++;
    if (h.kind == HAPPENINGS)
        return false;
    if (h.kind == HAPPENS_WEATHER || h.kind == HAPPENS_SPOILS)
        weather_read(&h.weather, line + end);
    else
        snprintf(h.text, sizeof h.text, "%s", line[end] ? line + end + 1 : "");
    s->v = mem_resize(s->v, s->n + 1, sizeof h);
    s->v[s->n++] = h;
    return true;
}

static bool file_goes_on(struct script *s, const char *line)
{
    char **at = &s->files[s->n_files - 1];
    size_t n = strlen(*at), more = strlen(line);

    *at = mem_resize(*at, n + more + 2, 1);
    snprintf(*at + n, more + 2, "%s\n", line);
    return true;
}

static bool line_read(struct script *s, const char *line)
{
    if (!*line || *line == '#')
        return true;
    if (strcmp(line, "file") == 0 && s->n_files < FILES_MOST) {
        s->files[s->n_files++] = mem_strdup("");
        return true;
    }
    if (line[0] == '|' && s->n_files)
        return file_goes_on(s, line[1] ? line + 2 : "");
    return world_read(s, line) || happening_read(s, line) ||
           rare_read(&s->world.rare, line);
}

bool script_line(struct script *s, const char *line, size_t n)
{
    char text[1024];

    snprintf(text, sizeof text, "%.*s", (int)n, line);
    return line_read(s, text);
}

bool script_read(struct script *s, FILE *f, char *why, size_t n)
{
    char line[1024];

    memset(s, 0, sizeof *s);
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        if (line_read(s, line))
            continue;
        snprintf(why, n, "cannot read \"%.100s\"", line);
        return false;
    }
    if (!s->n_files)
        snprintf(why, n, "it has no file");
    s->world.settings = s->files[0];
    return s->n_files;
}
