/*
 * clocks.c - preloaded into the daemon: clocks that a test may set.
 *
 * $CLOCKS names a file of three int64_t, milliseconds to add to the wall clock,
 * to the monotonic one, and to the one that goes on in sleep.  It is mapped, so
 * a write is seen at once.  Who waits for a time waits for it on these clocks:
 * a wait is cut into slices, after each of which the clock is read anew.  The
 * end of a slice is a wake-up without a cause, as POSIX allows them: what is
 * waited for may have come while the waiter's lock was another's.
 * What the daemon starts has the machine's clocks.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    SLICE_MS = 250, /* nobody has set a clock yet */
    SLICE_SET_MS = 10,
};

#if defined(__x86_64__)
#define WAIT_VERSION "GLIBC_2.3.2"
#else
#define WAIT_VERSION "GLIBC_2.17"
#endif

static volatile int64_t *offsets;
static int (*real)(clockid_t, struct timespec *);
static int (*real_timedwait)(pthread_cond_t *, pthread_mutex_t *,
                             const struct timespec *);
static int (*real_epoll)(int, struct epoll_event *, int, int, const sigset_t *);

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("CLOCKS");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *p;

    real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT,
                                                        "clock_gettime");
    /* ThreadSanitizer's, where it is there: past it each wait kept its mutex. */
    p = dlsym(RTLD_DEFAULT, "__tsan_init")
            ? dlsym(RTLD_NEXT, "pthread_cond_timedwait")
            : dlvsym(RTLD_NEXT, "pthread_cond_timedwait", WAIT_VERSION);
    real_timedwait = (int (*)(pthread_cond_t *, pthread_mutex_t *,
                              const struct timespec *))p;
    real_epoll = (int (*)(int, struct epoll_event *, int, int,
                          const sigset_t *))dlsym(RTLD_NEXT, "epoll_pwait");
    unsetenv("LD_PRELOAD");
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

static int64_t mono_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int64_t slice_ms(int64_t left_ms)
{
    int64_t most = offsets && offsets[1] ? SLICE_SET_MS : SLICE_MS;

    return left_ms < 0 ? 0 : left_ms < most ? left_ms : most;
}

/* The daemon's condition variables all go by the monotonic clock. */
int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
                           const struct timespec *until)
{
    int64_t end = until->tv_sec * INT64_C(1000000000) + until->tv_nsec;
    int64_t left = (end - mono_ns() + 999999) / 1000000, ns;
    struct timespec t;
    int rc;

    if (!offsets)
        return real_timedwait(c, m, until);
    real(CLOCK_MONOTONIC, &t);
    ns = t.tv_nsec + slice_ms(left) * 1000000;
    t.tv_sec += ns / 1000000000;
    t.tv_nsec = ns % 1000000000;
    rc = real_timedwait(c, m, &t);
    return rc == ETIMEDOUT && mono_ns() < end ? 0 : rc;
}

int epoll_pwait(int fd, struct epoll_event *events, int n, int timeout,
                const sigset_t *mask)
{
    int64_t end = mono_ns() + timeout * INT64_C(1000000);

    if (!offsets || timeout <= 0)
        return real_epoll(fd, events, n, timeout, mask);
    for (;;) {
        int64_t left = (end - mono_ns() + 999999) / 1000000;
        int rc = real_epoll(fd, events, n, (int)slice_ms(left), mask);

        if (rc != 0 || mono_ns() >= end)
            return rc;
    }
}

int epoll_wait(int fd, struct epoll_event *events, int n, int timeout)
{
    return epoll_pwait(fd, events, n, timeout, NULL);
}
