/* stall.c - what stands still: as long as the file that DAVIT_STALL names is there,
 * every sync waits; with DAVIT_STALL_LOOP the main thread alone, as it looks for
 * what has happened.  For LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

static void stand_while(const char *name)
{
    const char *file = getenv(name);

    while (file && access(file, F_OK) == 0)
        usleep(20000); /* wait: it stands in for a disk */
}

static void wait_for_disk(void)
{
    stand_while("DAVIT_STALL");
}

static void wait_in_the_loop(void)
{
    if (gettid() == getpid())
        stand_while("DAVIT_STALL_LOOP");
}

int epoll_wait(int fd, struct epoll_event *v, int n, int ms)
{
    int (*real)(int, struct epoll_event *, int, int) = (int (*)(
        int, struct epoll_event *, int, int))dlsym(RTLD_NEXT, "epoll_wait");

    wait_in_the_loop();
    return real(fd, v, n, ms);
}

int epoll_pwait(int fd, struct epoll_event *v, int n, int ms,
                const sigset_t *set)
{
    int (*real)(int, struct epoll_event *, int, int, const sigset_t *) =
        (int (*)(int, struct epoll_event *, int, int, const sigset_t *))dlsym(
            RTLD_NEXT, "epoll_pwait");

    wait_in_the_loop();
    return real(fd, v, n, ms, set);
}

int fsync(int fd)
{
    wait_for_disk();
    return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}

int fdatasync(int fd)
{
    wait_for_disk();
    return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd);
}
