/*
 * scratch.h - where tests may write: in $TMPDIR, which check.py looks through
 * when a suite is done.
 */
#ifndef DAVIT_TEST_SCRATCH_H
#define DAVIT_TEST_SCRATCH_H

#include <stdio.h>
#include <stdlib.h>

/* "$TMPDIR/NAME" in the array `path`, for mkdtemp() and mkstemp(). */
#define scratch_path(path, name) scratch_path_n(path, sizeof(path), name)

static inline void scratch_path_n(char *path, size_t size, const char *name)
{
    const char *dir = getenv("TMPDIR");
    int n = snprintf(path, size, "%s/%s", dir && *dir ? dir : "/tmp", name);

    if (n < 0 || (size_t)n >= size) {
        fprintf(stderr, "TMPDIR is too long: %s\n", dir);
        abort();
    }
}

#endif
