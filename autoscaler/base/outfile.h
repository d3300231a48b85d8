/*
 * outfile.h - every file that is opened for writing (tests/lint/written.py).
 *
 * Others may have been there before us, with a link that leads to a file which only
 * we may write.  So the last name is never followed as a symbolic link, what is
 * opened must be a regular file with one name, of ours or root's, and nothing is
 * cut off before that is known.  Thread: any.
 */
#ifndef BASE_OUTFILE_H
#define BASE_OUTFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "err.h"

/* flags: O_WRONLY or O_RDWR, with O_CREAT, O_EXCL, O_APPEND, O_TRUNC.  -1 with a
 * text, which begins with the path, and errno of what the system said. */
int outfile_open(const char *path, int flags, mode_t mode, struct err *err);
/* A folder that nobody else can put names into: made, or looked at. */
enum status outfile_folder(const char *path, struct err *err);
/* All of it, or false with errno. */
bool outfile_put(int fd, const void *text, size_t n);
/* In the place of what is there, at once or not at all; owner, group and mode stay
 * as they are.  New: 0600. */
enum status outfile_replace(const char *path, const void *text, size_t n,
                            struct err *err);
/* Nobody else who asks so changes the file meanwhile; waits 10 s for them.  A descriptor to
 * be closed, -1: somebody has it locked all the time. */
int outfile_lock(const char *path, struct err *err);

#endif
