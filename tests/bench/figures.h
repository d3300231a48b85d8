/*
 * figures.h - what the planner's benches measure: CPU time and peak memory of
 * this process.
 */
#ifndef BENCH_FIGURES_H
#define BENCH_FIGURES_H

#include <stdio.h>
#include <time.h>

static inline double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* The peak since exec: ru_maxrss would count the parent's before it. */
static inline long peak_rss_kib(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    long kib = 0;

    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %ld", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib;
}

#endif
