/*
 * tar.h - a tar archive in memory, as POSIX.1-1988 has it (ustar): what every
 * tar reads.
 */
#ifndef CONFIG_RAY_TAR_H
#define CONFIG_RAY_TAR_H

#include "../../base/buf.h"

enum tar_kind { TAR_FILE = '0', TAR_LINK = '2', TAR_FOLDER = '5' };

struct tar_entry {
    enum tar_kind kind;
    const char *name; /* "a/b"; up to 255 bytes, no part over 100 */
    unsigned mode;    /* permissions */
    const char *data; /* n bytes; of a link: where it leads, up to 100 */
    size_t n;
};

/* The owner is root and the time 0: the reader puts in its own.  False: a name
 * is too long, nothing was added. */
bool tar_add(struct buf *b, const struct tar_entry *e);
void tar_end(struct buf *b);

#endif
