/*
 * main.c - storms from seeds, on all cores.
 *
 * usage: storm --seconds S [--from SEED]     worlds nobody has seen, for so long
 *        storm --seeds A-B                   these
 *        storm --seed N [--trace] [--law L]  one; shrunk when it breaks a law
 *        storm --without WORD ...            without that dimension: script.h
 *        storm --nth STEP                    every STEP-th call fails, in all ways
 *        storm --nth-one SCENARIO,N,FAILURE  one of these
 *        storm --found FILE...               worlds that once broke a law; those
 *                                            with a line "# open" still do
 *        storm --script FILE [--trace]       one that is written down
 *
 * Each core has a process, which plays one world after the other.  One in
 * sixteen is played twice: it must come to the same digest.  A world that takes two
 * minutes of CPU is taken for one without an end, which breaks law 7.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "nth.h"
#include "observer.h"
#include "script.h"

enum {
    CORES = 64,
    TWICE = 16,
    SHRINK_TRIES = 400,
    LAWS = LAW_TRUTH + 1,
    SHOWN = 20,
    WORLD_CPU_S = 120 /* the dearest of the first 2,000 takes a few */
};

struct sums {      /* of one process; the others read it */
    uint64_t seed; /* that it plays; 0: none */
    uint64_t worlds, faults, launched, acknowledged;
    uint64_t sentences[SENTENCES], arrivals; /* truth.c */
    uint64_t rare[RARES];
    int64_t ms;
    uint64_t violations[LAWS], different;
};

struct run {
    uint64_t first, last; /* seeds */
    double until;         /* of the wall; 0: all of them */
    struct sums *sums;    /* shared */
    uint64_t *next;       /* the seed to be played next; shared */
    const char *program;
};

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void sums_add(struct sums *s, const struct played *p)
{
    s->worlds++;
    s->faults += p->faults;
    s->launched += p->launched;
    s->acknowledged += p->acknowledged;
    for (int i = 0; i < SENTENCES; i++)
        s->sentences[i] += p->sentences[i];
    s->arrivals += p->arrivals;
    s->ms += p->ms;
    for (int i = 0; i < RARES; i++)
        s->rare[i] = rare_count(i);
    if (p->law)
        s->violations[p->law]++;
}

static void violation_print(const struct run *r, uint64_t seed, int law,
                            const char *text)
{
    printf("seed %llu: law %d: %s\n    %s --seed %llu --law %d\n",
           (unsigned long long)seed, law, text, r->program,
           (unsigned long long)seed, law);
    fflush(stdout);
}

/* Whatever spins is ended by SIGVTALRM. */
static void play(const struct script *s, bool trace, struct played *ret)
{
    const struct itimerval limit = {.it_value = {.tv_sec = WORLD_CPU_S}},
                           none = {0};

    setitimer(ITIMER_VIRTUAL, &limit, NULL);
    script_play(s, NULL, trace, ret);
    setitimer(ITIMER_VIRTUAL, &none, NULL);
}

static void seed_play(const struct run *r, struct sums *sums, uint64_t seed)
{
    struct played p, again;
    struct script s;

    sums->seed = seed;
    script_draw(&s, seed);
    play(&s, false, &p);
    sums_add(sums, &p);
    if (p.law && sums->violations[p.law] <= SHOWN)
        violation_print(r, seed, p.law, p.violation);
    if (seed % TWICE == 0) {
        play(&s, false, &again);
        if (again.digest != p.digest) {
            sums->different++;
            printf("seed %llu: played twice, it came to another digest\n",
                   (unsigned long long)seed);
        }
    }
    script_free(&s);
    sums->seed = 0;
}

static void work(const struct run *r, struct sums *sums)
{
    if (!freopen("/dev/null", "w", stderr)) /* what the daemon logs */
        return;
    for (;;) {
        uint64_t seed = __atomic_fetch_add(r->next, 1, __ATOMIC_RELAXED);

        if (seed > r->last || (r->until && now_s() > r->until))
            break;
        seed_play(r, sums, seed);
    }
}

/* Workers that end badly are begun anew behind the seed that did it. */
static uint32_t all_work(const struct run *r, uint32_t cores)
{
    pid_t pids[CORES];
    uint32_t crashed = 0;

    for (uint32_t i = 0; i < cores; i++) {
        int status;

        fflush(NULL);
        if ((pids[i] = fork()) == 0) {
            work(r, &r->sums[i]);
            fflush(NULL);
            _exit(0);
        }
        (void)status;
    }
    for (uint32_t left = cores; left > 0;) {
        int status;
        pid_t pid = wait(&status);
        uint32_t i = 0;

        while (i < cores && pids[i] != pid)
            i++;
        if (i == cores)
            continue;
        left--;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            continue;
        crashed++;
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGVTALRM)
            violation_print(r, r->sums[i].seed, LAW_WEDGE, "it has no end");
        else
            violation_print(r, r->sums[i].seed, 0,
                            "the program itself crashed");
        if (crashed > 8)
            continue;
        if ((pids[i] = fork()) == 0) {
            work(r, &r->sums[i]);
            fflush(NULL);
            _exit(0);
        }
        left++;
    }
    return crashed;
}

static bool sums_print(const struct run *r, uint32_t cores, double seconds,
                       uint32_t crashed)
{
    struct sums a = {0};
    uint64_t bad = crashed;
    double hours;

    for (uint32_t i = 0; i < cores; i++) {
        const struct sums *s = &r->sums[i];

        a.worlds += s->worlds;
        a.faults += s->faults;
        a.launched += s->launched;
        a.acknowledged += s->acknowledged;
        for (int k = 0; k < SENTENCES; k++)
            a.sentences[k] += s->sentences[k];
        a.arrivals += s->arrivals;
        a.ms += s->ms;
        a.different += s->different;
        for (int k = 0; k < RARES; k++)
            a.rare[k] += s->rare[k];
        for (int k = 0; k < LAWS; k++)
            a.violations[k] += s->violations[k];
    }
    for (int k = 1; k < LAWS; k++)
        bad += a.violations[k];
    bad += a.different;
    hours = (double)a.ms / HOUR;
    printf("%llu worlds, %llu faults, %.0f simulated hours (%.1f years), %llu "
           "machines bought, %llu requests acknowledged; "
           "%.0f s, %.0f hours/s\n",
           (unsigned long long)a.worlds, (unsigned long long)a.faults, hours,
           hours / 8766, (unsigned long long)a.launched,
           (unsigned long long)a.acknowledged, seconds, hours / seconds);
    printf("sentences compared:");
    for (int k = 0; k < SENTENCES; k++)
        printf("%s %llu \"%s\"", k ? "," : "",
               (unsigned long long)a.sentences[k], truth_word(k));
    printf("; %llu arrivals of machines that were said to be ready at a time; "
           "false: %llu\n",
           (unsigned long long)a.arrivals,
           (unsigned long long)a.violations[LAW_TRUTH]);
    printf("rare ways taken:");
    for (int k = 0; k < RARES; k++)
        printf("%s %s %llu", k ? "," : "", rare_word(k),
               (unsigned long long)a.rare[k]);
    printf("\n");
    for (int k = 1; k < LAWS; k++)
        if (a.violations[k])
            printf("law %d was broken in %llu worlds\n", k,
                   (unsigned long long)a.violations[k]);
    printf("%llu passed, %llu failed\n",
           (unsigned long long)(a.worlds > bad ? a.worlds - bad : 0),
           (unsigned long long)bad);
    return bad == 0;
}

static int many(struct run *r)
{
    uint32_t cores = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN), crashed;
    double began = now_s();
    size_t n = CORES * sizeof(struct sums) + sizeof(uint64_t);
    void *shared = mmap(NULL, n, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (shared == MAP_FAILED)
        return perror("mmap"), 2;
    cores = cores < CORES ? cores : CORES;
    r->next = shared;
    r->sums = (struct sums *)(r->next + 1);
    *r->next = r->first;
    crashed = all_work(r, cores);
    return sums_print(r, cores, now_s() - began, crashed) ? 0 : 1;
}

/* ---- the n-th call fails */

static int nth_child(uint32_t core, uint32_t cores, uint32_t step)
{
    bool bad = false;
    struct nth x;

    if (!freopen("/dev/null", "w", stderr))
        return 1;
    for (uint32_t i = core; i < nth_scenarios(); i += cores) {
        nth_play(i, step, &x);
        printf("%s %2u %-34s %3u calls, %5u ways to fail, %u broke a law%s%s\n",
               x.broken ? "FAILED" : "ok    ", i, x.name, x.calls, x.played,
               x.broken, x.broken ? ": " : "", x.first);
        fflush(stdout);
        bad = bad || x.broken;
    }
    return bad;
}

static int nth_all(uint32_t step)
{
    uint32_t cores = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN), failed = 0;
    int status;

    for (uint32_t i = 0; i < cores; i++) {
        fflush(NULL);
        if (fork() == 0)
            _exit(nth_child(i, cores, step));
    }
    while (wait(&status) > 0)
        failed += !WIFEXITED(status) || WEXITSTATUS(status);
    return failed ? 1 : 0;
}

/* ---- one world */

static void shrunk_print(struct script *s, const struct played *p)
{
    bool *keep = calloc(s->n + 1, 1);
    uint32_t n = 0;

    script_shrink(s, p->law, keep, SHRINK_TRIES);
    for (uint32_t i = 0; i < s->n; i++)
        if (keep[i])
            s->v[n++] = s->v[i];
    s->n = n;
    printf("# law %d: %s\n", p->law, p->violation);
    script_write(s, stdout);
    free(keep);
}

static int one(struct script *s, bool trace, int law)
{
    struct played p;

    play(s, trace, &p);
    printf("digest %016llx, %llu faults, %.1f hours, %llu steps, %u launched, "
           "%u ended\n",
           (unsigned long long)p.digest, (unsigned long long)p.faults,
           (double)p.ms / HOUR, (unsigned long long)p.steps, p.launched,
           p.ended);
    if (p.law)
        printf("law %d: %s\n", p.law, p.violation);
    if (p.law && law >= 0)
        shrunk_print(s, &p);
    script_free(s);
    return p.law != 0;
}

static int from_file(const char *path, bool trace)
{
    FILE *f = fopen(path, "r");
    struct script s;
    char why[256];

    if (!f)
        return fprintf(stderr, "%s: %s\n", path, strerror(errno)), 2;
    if (!script_read(&s, f, why, sizeof why))
        return fprintf(stderr, "%s: %s\n", path, why), 2;
    fclose(f);
    return one(&s, trace, -1);
}

/* True: it is as it should be. */
static bool found_play(const char *path)
{
    FILE *f = fopen(path, "r");
    char line[1024], why[256];
    struct played p;
    struct script s;
    bool open = false, good;

    while (f && fgets(line, sizeof line, f) && *line == '#')
        open = open || strcmp(line, "# open\n") == 0;
    if (f)
        rewind(f);
    if (!f || !script_read(&s, f, why, sizeof why)) {
        printf("FAILED %s: cannot be read\n", path);
        return false;
    }
    fclose(f);
    fflush(stdout); /* the one that has no end comes behind what is told */
    play(&s, false, &p);
    script_free(&s);
    good = !p.law || open;
    printf("%s %s%s%s%s\n",
           !good   ? "FAILED"
           : p.law ? "known "
           : open  ? "PASSES"
                   : "ok    ",
           path, p.law ? ": " : "", p.law ? p.violation : "",
           open && !p.law ? ": take \"# open\" out of it" : "");
    return good;
}

static int found_all(char **paths, int n)
{
    uint32_t failed = 0;

    if (!freopen("/dev/null", "w", stderr))
        return 2;
    for (int i = 0; i < n; i++)
        failed += !found_play(paths[i]);
    printf("%u passed, %u failed\n", n - failed, failed);
    return failed != 0;
}

int main(int argc, char **argv)
{
    struct run r = {.first = 1, .last = UINT64_MAX, .program = argv[0]};
    const char *script = NULL;
    unsigned long long a, b;
    uint64_t seed = 0;
    bool trace = false, nth_one = false;
    uint32_t nth = 0, one_of[3];
    int law = -1;
    struct script s;

    log_setup(LOG_ERROR, false);
    for (int i = 1; i < argc; i++) {
        const char *x = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";

        if (strcmp(x, "--found") == 0)
            return found_all(argv + i + 1, argc - i - 1);
        if (strcmp(x, "--seconds") == 0)
            r.until = now_s() + atof(value), i++;
        else if (strcmp(x, "--from") == 0)
            r.first = strtoull(value, NULL, 10), i++;
        else if (strcmp(x, "--seeds") == 0 &&
                 sscanf(value, "%llu-%llu", &a, &b) == 2)
            r.first = a, r.last = b, i++;
        else if (strcmp(x, "--seed") == 0)
            seed = strtoull(value, NULL, 10), i++;
        else if (strcmp(x, "--doubts") == 0)
            draw_doubts((uint32_t)strtoul(value, NULL, 0)), i++;
        else if (strcmp(x, "--without") == 0 && draw_without(value))
            i++;
        else if (strcmp(x, "--law") == 0)
            law = atoi(value), i++;
        else if (strcmp(x, "--script") == 0)
            script = value, i++;
        else if (strcmp(x, "--nth") == 0)
            nth = (uint32_t)atoi(value), i++;
        else if (strcmp(x, "--nth-one") == 0 &&
                 sscanf(value, "%u,%u,%u", &one_of[0], &one_of[1],
                        &one_of[2]) == 3)
            nth_one = true, i++;
        else if (strcmp(x, "--trace") == 0)
            trace = true;
        else
            return fprintf(stderr, "%s: what is %s?\n", argv[0], x), 2;
    }
    if (r.until && r.first == 1)
        r.first = SEEDS_LONG + (uint64_t)time(NULL) * 1000;
    if (r.until)
        printf("from seed %llu\n", (unsigned long long)r.first);
    if (script)
        return from_file(script, trace);
    if (nth)
        return nth_all(nth);
    if (nth_one)
        return nth_script(&s, one_of[0], one_of[1], one_of[2])
                   ? one(&s, trace, law)
                   : 2;
    if (!seed)
        return many(&r);
    script_draw(&s, seed);
    return one(&s, trace, law);
}
