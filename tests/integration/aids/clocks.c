/*
 * clocks.c - preloaded into the daemon: clocks that a test may set.
 *
 * $CLOCKS names a file of three int64_t, milliseconds to add to the wall clock,
 * to the monotonic one, and to the one that goes on in sleep.  It is mapped, so
 * a write is seen at once.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *offsets;
static int (*real)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("CLOCKS");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *p;

    real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT,
                                                        "clock_gettime");
    if (fd < 0)
        return;
    p = mmap(NULL, 24, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (p != MAP_FAILED)
        offsets = p;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
    int at = id == CLOCK_REALTIME    ? 0
             : id == CLOCK_MONOTONIC ? 1
             : id == CLOCK_BOOTTIME  ? 2
                                     : -1;
    int rc;

    if (!real)
        begin();
    rc = real(id, t);
    if (rc == 0 && offsets && at >= 0) {
        int64_t ns = t->tv_sec * INT64_C(1000000000) + t->tv_nsec +
                     offsets[at] * 1000000;
        t->tv_sec = ns / 1000000000;
        t->tv_nsec = ns % 1000000000;
    }
    return rc;
}
