/*
 * store.c - the file that is the cloud.
 *
 * Writers take turns with flock() on FILE.lock (a lock per open file, so it
 * holds between threads and between processes) and replace the file by rename;
 * readers need no lock.  It is not fsynced: it must outlive the daemon, not the
 * machine.  A file that cannot be read is never overwritten: it may be the only
 * record of what runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kit/options.h"
#include "sim.h"

#define FILE_MAX ((off_t)64 << 20)
#define FORMAT 1

int64_t field_int(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

const char *field_text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

/* Ids must differ from those of a cloud whose file was removed: the daemon's
 * journal may still know them. */
static json_t *cloud_new(int64_t now_ms)
{
    uint64_t mix = (uint64_t)now_ms * UINT64_C(0x9e3779b97f4a7c15) +
                   (uint64_t)getpid();
    char epoch[8];
    snprintf(epoch, sizeof epoch, "%04x", (unsigned)(mix >> 48));
    return json_pack("{s:i, s:s, s:i, s:i, s:[], s:{}, s:{}, s:{}}",
                     "davit_sim", FORMAT, "epoch", epoch, "seq", 0, "launches",
                     0, "machines", "requests", "attempts", "faults");
}

static int damaged(struct op *op, const char *why)
{
    return kit_error(op->error, DAVIT_BROKEN, "state",
                     "%s: %s; mend or remove it (removing forgets the "
                     "simulated machines)",
                     op->sim->path, why);
}

static bool machine_valid(const json_t *m)
{
    return json_is_string(json_object_get(m, "id")) &&
           json_is_string(json_object_get(m, "type")) &&
           json_is_string(json_object_get(m, "cluster")) &&
           json_is_string(json_object_get(m, "request")) &&
           json_is_integer(json_object_get(m, "created_ms")) &&
           json_is_integer(json_object_get(m, "running_ms"));
}

static int cloud_check(struct op *op)
{
    json_t *machines = json_object_get(op->root, "machines"), *m;
    size_t i;
    if (!json_is_integer(json_object_get(op->root, "davit_sim")))
        return damaged(op, "it is not a sim's state (no \"davit_sim\")");
    if (field_int(op->root, "davit_sim") != FORMAT)
        return damaged(op, "it is of another version of the sim");
    if (!json_is_array(machines) ||
        !json_is_object(json_object_get(op->root, "requests")) ||
        !json_is_object(json_object_get(op->root, "attempts")))
        return damaged(op, "machines, requests or attempts are missing");
    json_array_foreach(machines, i, m)
        if (!machine_valid(m)) {
            char why[64];
            snprintf(why, sizeof why, "machines[%zu] lacks a field", i);
            return damaged(op, why);
        }
    return DAVIT_OK;
}

static int parse(struct op *op, const char *text, size_t n)
{
    json_error_t at;
    op->root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &at);
    if (!op->root) {
        char why[256];
        snprintf(why, sizeof why, "line %d column %d: %s", at.line, at.column,
                 at.text);
        return damaged(op, why);
    }
    return cloud_check(op);
}

static int load(struct op *op, int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return damaged(op, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return damaged(op, "it is not a regular file");
    if (st.st_size > FILE_MAX)
        return damaged(op, "it is larger than 64 MiB");
    size_t want = (size_t)st.st_size, got = 0;
    char *text = kit_alloc(want + 1);
    while (got < want) {
        ssize_t k = read(fd, text + got, want - got);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            break;
        got += (size_t)k;
    }
    int s = got == want ? parse(op, text, got)
                        : damaged(op, "it cannot be read to its end");
    free(text);
    return s;
}

int store_read(struct op *op)
{
    int fd = open(op->sim->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT) {
        op->root = cloud_new(op->now_ms);
        return DAVIT_OK;
    }
    if (fd < 0)
        return damaged(op, strerror(errno));
    int s = load(op, fd);
    close(fd);
    return s;
}

static int lock_and_read(struct op *op, bool patient)
{
    struct sim *sim = op->sim;
    uint32_t wait = 1;
    op->lock_fd = open(sim->lock_path,
                       O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (op->lock_fd < 0)
        return kit_error(op->error, DAVIT_RETRY, "state", "%s: %s",
                         sim->lock_path, strerror(errno));
    while (flock(op->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return kit_error(op->error, DAVIT_RETRY, "state", "%s: %s",
                             sim->lock_path, strerror(errno));
        if (!patient || !sim->host->sleep(op->call, wait))
            return kit_error(op->error, DAVIT_CANCELLED, "",
                             "gave up waiting for %s", sim->lock_path);
        wait = wait < 16 ? wait * 2 : 16;
    }
    return store_read(op);
}

int store_lock_and_read(struct op *op)
{
    return lock_and_read(op, true);
}

int store_try_lock_and_read(struct op *op)
{
    return lock_and_read(op, false);
}

int store_write(struct op *op)
{
    const struct sim *sim = op->sim;
    char temp[4096];
    if (!op->dirty)
        return DAVIT_OK;
    /* The lock is held, so the name cannot be another writer's. */
    snprintf(temp, sizeof temp, "%s.new", sim->path);
    char *text = kit_must(json_dumps(op->root, JSON_INDENT(1)));
    int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                  0644);
    bool good = fd >= 0 && kit_write_all(fd, text, strlen(text)) &&
                kit_write_all(fd, "\n", 1);
    int why = errno;
    free(text);
    if (fd >= 0 && close(fd) != 0 && good) {
        good = false;
        why = errno;
    }
    if (good && rename(temp, sim->path) != 0) {
        good = false;
        why = errno;
    }
    if (good) {
        op->dirty = false;
        return DAVIT_OK;
    }
    if (fd >= 0)
        unlink(temp);
    return kit_error(op->error, DAVIT_RETRY, "state",
                     "%s cannot be written: %s", sim->path, strerror(why));
}

void store_done(struct op *op)
{
    json_decref(op->root);
    op->root = NULL;
    if (op->lock_fd >= 0)
        close(op->lock_fd); /* the lock goes with it */
    op->lock_fd = -1;
}
