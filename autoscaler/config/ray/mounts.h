/*
 * mounts.h - file_mounts and cluster_synced_files of a Ray cluster YAML, which
 * `ray up` copies with rsync: read here, and unpacked by the machine's script.
 *
 * As rsync -a has it: a folder's content goes into the remote folder, links stay
 * links, permissions are kept; the owner is who runs the script.  Paths that
 * begin with "~" or without a slash are below that user's home there, and below
 * ours or the file's folder here.  rsync_exclude and rsync_filter hold.
 */
#ifndef CONFIG_RAY_MOUNTS_H
#define CONFIG_RAY_MOUNTS_H

#include "../raw.h"

struct ray_mounts {
    const char *archive; /* tar, gzip, base64 in lines; "": no files */
    const char *unpack;  /* for `bash -c`: reads the archive, as gzip left it */
    const struct ynode *at; /* to point to */
    size_t bytes;           /* of the files */
};

/* What cannot be read is a mistake of the file, by line; what cannot be copied,
 * and a secret, is warned of. */
void ray_mounts_read(struct raw *d, const struct ynode *root,
                     struct ray_mounts *ret);

#endif
