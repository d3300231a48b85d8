/*
 * memory_file.h - bytes as a file, for parsers that take a path.
 */
#ifndef FUZZ_MEMORY_FILE_H
#define FUZZ_MEMORY_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Always the same file, with other bytes in it; its path is in static memory. */
static inline const char *memory_file(const uint8_t *data, size_t n,
                                      int *ret_fd)
{
    static char path[40];
    static int fd = -1;

    if (fd < 0) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, n, 0) != (ssize_t)n)
        abort();
    if (ret_fd)
        *ret_fd = fd;
    return path;
}

#endif
