/* stall.c - a disk that stands still: as long as the file that DAVIT_STALL names is
 * there, every sync waits.  For LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static void wait_for_disk(void)
{
    const char *file = getenv("DAVIT_STALL");

    while (file && access(file, F_OK) == 0)
        usleep(20000); /* wait: it stands in for a disk */
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
