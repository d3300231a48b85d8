/*
 * file.c - see file.h.
 *
 * Anything that is no regular file (a FIFO, a device, a folder) is refused
 * before it is opened for reading: a daemon must not hang on its settings.
 */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/alloc.h"

static enum status slurp(int fd, size_t max, char **ret, size_t *ret_n,
                         struct err *err)
{
    struct stat st;
    size_t n = 0, size;
    char *text;

    if (fstat(fd, &st) < 0)
        return err_set(err, ST_INVALID, "cannot read it: %s", strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_set(err, ST_INVALID, "not a file%s",
                       S_ISDIR(st.st_mode) ? " but a folder" : "");
    if ((uintmax_t)st.st_size > max)
        return err_set(err, ST_INVALID,
                       "%ju bytes are too much; at most %zu are read",
                       (uintmax_t)st.st_size, max);
    size = (size_t)st.st_size;
    text = mem_alloc(size + 1);
    while (n < size) {
        ssize_t got = read(fd, text + n, size - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            int e = errno;
            free(text);
            return err_set(err, ST_INVALID, "cannot read it: %s", strerror(e));
        }
        if (got == 0)
            break; /* became shorter meanwhile */
        n += (size_t)got;
    }
    text[n] = '\0';
    *ret = text;
    *ret_n = n;
    return ST_OK;
}

enum status file_slurp(const char *path, size_t max, char **ret, size_t *ret_n,
                       struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    enum status s;

    *ret = NULL;
    *ret_n = 0;
    if (fd < 0)
        return err_set(err, errno == ENOENT ? ST_NOT_FOUND : ST_INVALID,
                       "cannot open it: %s", strerror(errno));
    s = slurp(fd, max, ret, ret_n, err);
    close(fd);
    return s;
}
