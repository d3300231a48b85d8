/*
 * metrics_process.c - the process itself, under the names that Prometheus'
 * clients use.
 */
#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "metrics.h"

static uintmax_t open_files(void)
{
    DIR *d = opendir("/proc/self/fd");
    uintmax_t n = 0;

    if (!d)
        return 0;
    while (readdir(d))
        n++;
    closedir(d);
    return n > 3 ? n - 3 : 0; /* ".", ".." and the directory itself */
}

void metrics_process(struct buf *b)
{
    struct rusage u;
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");

    if (f) {
        if (fscanf(f, "%*s %ld", &pages) != 1)
            pages = 0;
        fclose(f);
    }
    getrusage(RUSAGE_SELF, &u);
    metric_micros(b, "process_cpu_seconds_total", "counter", "CPU time used",
                  (int64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 +
                      u.ru_utime.tv_usec + u.ru_stime.tv_usec);
    metric_gauge(b, "process_resident_memory_bytes", "Resident memory",
                 (uintmax_t)pages * (uintmax_t)sysconf(_SC_PAGESIZE));
    metric_gauge(b, "process_open_fds", "Open file descriptors", open_files());
}
