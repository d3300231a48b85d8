/*
 * disk.c - see disk.h.
 *
 * A file is its bytes as they are now, and the changes since its last sync,
 * newest last: losing power undoes them all, and does some of the writes again.
 */
#include "disk.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/random.h"

enum { FILES = 32, SECTOR = 512, SHM_LOCKS = 8, SHM_REGIONS = 8 };

struct change {               /* of bytes at..at + n; what was beyond the size
                               * then is 0 in old */
    int64_t at, n, size;      /* size: of the file before */
    unsigned char *old, *new; /* new NULL: a truncation */
};

struct node {          /* a file on the disk */
    char name[256];    /* "" : free */
    bool exists, kept; /* kept: a sync has made its name durable */
    bool unlinked;     /* it has no name any more */
    unsigned char *v;
    int64_t n, room;
    unsigned char *ghost; /* of the file of that name which was deleted, and
                           * is there again when the power is lost; NULL */
    int64_t n_ghost;
    struct change *changes;
    uint32_t n_changes, room_changes;
    struct handle *reserved, *exclusive;
    uint32_t shared;
    unsigned char *shm[SHM_REGIONS];
    uint32_t shm_users, shm_shared[SHM_LOCKS];
    struct handle *shm_owner[SHM_LOCKS];
};

struct disk {
    sqlite3_vfs vfs;
    struct node files[FILES];
    uint64_t changes, fault_at;
    enum disk_fault fault;
    bool full, readonly, dead;
    uint32_t epoch; /* grows at each loss of power */
    void (*wait)(void *arg);
    void *arg;
};

struct handle {        /* an open file */
    sqlite3_file file; /* first */
    struct disk *disk;
    struct node *node;
    uint32_t epoch;
    int lock; /* SQLITE_LOCK_* */
    bool shm, temporary;
};

/* ---- the disk */

static bool gone(const struct handle *h)
{
    return h->epoch != h->disk->epoch || h->disk->dead;
}

/* One more change: may it be made? */
static bool change_begins(struct disk *d)
{
    if (d->dead || d->readonly)
        return false;
    if (++d->changes != d->fault_at)
        return true;
    d->dead = d->fault == DISK_DIES;
    return d->fault == DISK_WELL;
}

static void node_resize(struct node *f, int64_t n)
{
    if (n > f->room) {
        int64_t room = n > 2 * f->room ? n : 2 * f->room;

        f->v = mem_resize(f->v, (size_t)room, 1);
        memset(f->v + f->room, 0, (size_t)(room - f->room));
        f->room = room;
    }
    if (n < f->n)
        memset(f->v + n, 0, (size_t)(f->n - n));
    f->n = n;
}

/* new NULL: the file is cut at `at`. */
static void node_change(struct node *f, int64_t at, int64_t n, const void *new)
{
    struct change *c;
    int64_t size = f->n;

    if (n == 0)
        return;
    if (f->n_changes == f->room_changes) {
        f->room_changes = f->room_changes ? 2 * f->room_changes : 16;
        f->changes = mem_resize(f->changes, f->room_changes, sizeof *c);
    }
    c = &f->changes[f->n_changes++];
    *c = (struct change){.at = at, .n = n, .size = size};
    if (new &&at + n > f->n)
        node_resize(f, at + n);
    c->old = mem_alloc((size_t)n);
    memcpy(c->old, f->v + at, (size_t)n);
    if (new) {
        c->new = mem_alloc((size_t)n);
        memcpy(c->new, new, (size_t)n);
        memcpy(f->v + at, new, (size_t)n);
    } else {
        node_resize(f, at);
    }
}

/* What a sync, or a loss of power, leaves: the deleted one is gone for good. */
static void ghost_forget(struct node *f)
{
    free(f->ghost);
    f->ghost = NULL;
}

static void node_synced(struct node *f)
{
    ghost_forget(f);
    for (uint32_t i = 0; i < f->n_changes; i++) {
        free(f->changes[i].old);
        free(f->changes[i].new);
    }
    f->n_changes = 0;
    f->kept = true;
}

static uint64_t next_random(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

/* Whole sectors of an undone write that had reached the disk after all. */
static void sectors_survive(struct node *f, const struct change *c,
                            uint64_t *seed)
{
    for (int64_t from = c->at; c->new &&from < c->at + c->n;) {
        int64_t to = (from / SECTOR + 1) * SECTOR;

        to = to < c->at + c->n ? to : c->at + c->n;
        if (next_random(seed) % 2) {
            if (to > f->n)
                node_resize(f, to);
            memcpy(f->v + from, c->new + (from - c->at), (size_t)(to - from));
        }
        from = to;
    }
}

static void node_unlock(struct node *f)
{
    f->reserved = f->exclusive = NULL;
    f->shared = f->shm_users = 0;
    memset(f->shm_shared, 0, sizeof f->shm_shared);
    memset(f->shm_owner, 0, sizeof f->shm_owner);
}

static void changes_undo(struct node *f)
{
    for (uint32_t i = f->n_changes; i-- > 0;) {
        const struct change *c = &f->changes[i];

        if (c->at + c->n > f->n)
            node_resize(f, c->at + c->n);
        memcpy(f->v + c->at, c->old, (size_t)c->n);
        node_resize(f, c->size);
    }
}

/* A deletion is not durable before a sync of any file: until then the file as it was synced
 * last may come back.  What is made under its name is another file. */
static void node_delete(struct node *f)
{
    unsigned char *ghost;

    changes_undo(f);
    ghost = f->kept ? f->v : NULL;
    if (ghost) {
        int64_t n = f->n;

        f->v = NULL;
        f->n = f->room = 0;
        node_synced(f);
        f->ghost = ghost;
        f->n_ghost = n;
    } else { /* nor was the file; an older one may be */
        unsigned char *older = f->ghost;

        f->ghost = NULL;
        node_resize(f, 0);
        node_synced(f);
        f->ghost = older;
    }
    f->exists = f->kept = false;
}

static void ghost_returns(struct node *f)
{
    changes_undo(f);
    free(f->v);
    f->v = f->ghost;
    f->n = f->room = f->n_ghost;
    f->ghost = NULL;
    node_synced(f);
    f->exists = true;
    node_unlock(f);
}

/* Neither a new name nor a deletion is durable before a sync. */
static void node_lose(struct node *f, uint64_t *seed)
{
    bool named = *seed && next_random(seed) % 2 ? f->exists : f->kept;

    if (f->ghost && !(*seed && next_random(seed) % 2)) {
        ghost_returns(f);
        return;
    }
    changes_undo(f);
    for (uint32_t i = 0; *seed && i < f->n_changes; i++)
        sectors_survive(f, &f->changes[i], seed);
    if (!named)
        node_resize(f, 0);
    node_synced(f);
    f->exists = f->kept = named;
    node_unlock(f);
}

static struct node *node_find(struct disk *d, const char *name)
{
    for (int i = 0; i < FILES; i++)
        if (strcmp(d->files[i].name, name) == 0)
            return &d->files[i];
    return NULL;
}

static void shm_free(struct node *f)
{
    for (int i = 0; i < SHM_REGIONS; i++) {
        free(f->shm[i]);
        f->shm[i] = NULL;
    }
}

void disk_power_loss(struct disk *d, uint64_t seed)
{
    for (int i = 0; i < FILES; i++)
        if (*d->files[i].name)
            node_lose(&d->files[i], &seed);
    d->epoch++;
    d->dead = true;
}

void disk_process_gone(struct disk *d)
{
    for (int i = 0; i < FILES; i++)
        node_unlock(&d->files[i]);
    d->epoch++;
    d->dead = true;
}

void disk_unlink(struct disk *d, const char *name)
{
    static const char *const ends[] = {"", "-wal"};
    char full[256];

    for (int i = 0; i < 2; i++) {
        struct node *f;

        sqlite3_snprintf(sizeof full, full, "%s%s", name, ends[i]);
        f = node_find(d, full);
        if (!f)
            continue;
        f->unlinked = true;
        sqlite3_snprintf(sizeof f->name, f->name, "(unlinked) %s", full);
    }
}

static bool node_copy(struct disk *d, const struct node *from, const char *to)
{
    struct node *f = node_find(d, to);

    if (!f && (f = node_find(d, "")))
        sqlite3_snprintf(sizeof f->name, f->name, "%s", to);
    if (!f)
        return false;
    node_resize(f, 0);
    node_resize(f, from->n);
    if (from->n)
        memcpy(f->v, from->v, (size_t)from->n);
    node_synced(f);
    f->exists = true;
    return true;
}

bool disk_copy(struct disk *d, const char *from, const char *to)
{
    bool all = true;

    for (int i = 0; i < 2 && all; i++) {
        const char *end = i ? "-wal" : "";
        char a[256], b[256];
        const struct node *f;

        sqlite3_snprintf(sizeof a, a, "%s%s", from, end);
        sqlite3_snprintf(sizeof b, b, "%s%s", to, end);
        f = node_find(d, a);
        if (f && f->exists)
            all = node_copy(d, f, b);
        else
            all = i > 0;
    }
    return all;
}

/* With its last user. */
static void unlinked_free(struct disk *d)
{
    for (int i = 0; i < FILES; i++) {
        struct node *f = &d->files[i];

        if (!f->unlinked)
            continue;
        node_resize(f, 0);
        node_synced(f);
        node_unlock(f);
        shm_free(f);
        f->exists = f->kept = f->unlinked = false;
        memset(f->name, 0, sizeof f->name);
    }
}

bool disk_damage(struct disk *d, const char *name, int64_t at)
{
    struct node *f = node_find(d, name);

    if (!f || at >= f->n)
        return false;
    f->v[at] ^= 0x55;
    return true;
}

void disk_power_on(struct disk *d)
{
    for (int i = 0; i < FILES; i++)
        shm_free(&d->files[i]);
    unlinked_free(d);
    d->dead = false;
    d->fault_at = 0;
}

/* ---- one open file, as SQLite asks of it */

static int f_close(sqlite3_file *file)
{
    struct handle *h = (struct handle *)file;

    if (h->temporary && !gone(h))
        h->node->exists = h->node->kept = false;
    return SQLITE_OK;
}

static int f_read(sqlite3_file *file, void *out, int n, sqlite3_int64 at)
{
    const struct handle *h = (const struct handle *)file;
    int64_t there = h->node->n - at;

    if (gone(h))
        return SQLITE_IOERR_READ;
    there = there < 0 ? 0 : there < n ? there : n;
    if (there > 0)
        memcpy(out, h->node->v + at, (size_t)there);
    memset((char *)out + there, 0, (size_t)(n - there));
    return there == n ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int f_write(sqlite3_file *file, const void *v, int n, sqlite3_int64 at)
{
    struct handle *h = (struct handle *)file;

    if (gone(h) || !change_begins(h->disk))
        return SQLITE_IOERR_WRITE;
    if (h->disk->full && at + n > h->node->n)
        return SQLITE_FULL;
    node_change(h->node, at, n, v);
    return SQLITE_OK;
}

static int f_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    struct handle *h = (struct handle *)file;

    if (gone(h) || !change_begins(h->disk))
        return SQLITE_IOERR_TRUNCATE;
    if (size < h->node->n)
        node_change(h->node, size, h->node->n - size, NULL);
    return SQLITE_OK;
}

static int f_sync(sqlite3_file *file, int flags)
{
    struct handle *h = (struct handle *)file;

    (void)flags;
    if (gone(h) || !change_begins(h->disk))
        return SQLITE_IOERR_FSYNC;
    if (h->disk->wait)
        h->disk->wait(h->disk->arg);
    node_synced(h->node);
    for (int i = 0; i < FILES; i++) /* a file system's log keeps its order */
        ghost_forget(&h->disk->files[i]);
    return SQLITE_OK;
}

static int f_size(sqlite3_file *file, sqlite3_int64 *ret)
{
    const struct handle *h = (const struct handle *)file;

    *ret = h->node->n;
    return gone(h) ? SQLITE_IOERR_FSTAT : SQLITE_OK;
}

static bool lock_free(const struct node *f, const struct handle *h, int level)
{
    uint32_t mine = h->lock >= SQLITE_LOCK_SHARED;

    if (level == SQLITE_LOCK_SHARED)
        return !f->exclusive;
    if (f->reserved && f->reserved != h)
        return false;
    return level == SQLITE_LOCK_RESERVED || f->shared == mine;
}

static int f_lock(sqlite3_file *file, int level)
{
    struct handle *h = (struct handle *)file;
    struct node *f = h->node;

    if (gone(h))
        return SQLITE_IOERR_LOCK;
    if (h->lock >= level)
        return SQLITE_OK;
    if (!lock_free(f, h, level))
        return SQLITE_BUSY;
    if (h->lock < SQLITE_LOCK_SHARED)
        f->shared++;
    if (level >= SQLITE_LOCK_RESERVED)
        f->reserved = h;
    if (level == SQLITE_LOCK_EXCLUSIVE)
        f->exclusive = h;
    h->lock = level;
    return SQLITE_OK;
}

static int f_unlock(sqlite3_file *file, int level)
{
    struct handle *h = (struct handle *)file;
    struct node *f = h->node;

    if (gone(h) || h->lock <= level)
        return SQLITE_OK;
    if (f->reserved == h)
        f->reserved = NULL;
    if (f->exclusive == h)
        f->exclusive = NULL;
    if (level == SQLITE_LOCK_NONE)
        f->shared--;
    h->lock = level;
    return SQLITE_OK;
}

static int f_reserved(sqlite3_file *file, int *ret)
{
    *ret = ((const struct handle *)file)->node->reserved ? 1 : 0;
    return SQLITE_OK;
}

static int f_control(sqlite3_file *file, int op, void *arg)
{
    const struct handle *h = (const struct handle *)file;

    if (op != SQLITE_FCNTL_HAS_MOVED)
        return SQLITE_NOTFOUND;
    *(int *)arg = h->node->unlinked;
    return SQLITE_OK;
}

static int f_sector(sqlite3_file *file)
{
    (void)file;
    return SECTOR;
}

/* As SQLite takes a real disk for: what lies beside a write stays whole. */
static int f_device(sqlite3_file *file)
{
    (void)file;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

/* ---- what connections share of a journal's index; no power loss keeps it */

static int f_shm_map(sqlite3_file *file, int i, int n, int extend,
                     void volatile **ret)
{
    struct handle *h = (struct handle *)file;

    *ret = NULL;
    if (gone(h) || i >= SHM_REGIONS)
        return SQLITE_IOERR_SHMMAP;
    if (!h->shm) {
        h->shm = true;
        h->node->shm_users++;
    }
    if (!h->node->shm[i] && extend)
        h->node->shm[i] = mem_zeroed(1, (size_t)n);
    *ret = h->node->shm[i];
    return SQLITE_OK;
}

static int f_shm_lock(sqlite3_file *file, int first, int n, int flags)
{
    struct handle *h = (struct handle *)file;
    struct node *f = h->node;
    bool shared = flags & SQLITE_SHM_SHARED;

    if (gone(h))
        return flags & SQLITE_SHM_UNLOCK ? SQLITE_OK : SQLITE_IOERR_SHMLOCK;
    for (int i = first; i < first + n; i++) {
        if (flags & SQLITE_SHM_UNLOCK) {
            if (shared && f->shm_shared[i])
                f->shm_shared[i]--;
            else if (f->shm_owner[i] == h)
                f->shm_owner[i] = NULL;
        } else if (f->shm_owner[i] || (!shared && f->shm_shared[i])) {
            return SQLITE_BUSY;
        }
    }
    for (int i = first; flags & SQLITE_SHM_LOCK && i < first + n; i++) {
        if (shared)
            f->shm_shared[i]++;
        else
            f->shm_owner[i] = h;
    }
    return SQLITE_OK;
}

static void f_shm_barrier(sqlite3_file *file)
{
    (void)file;
}

static int f_shm_unmap(sqlite3_file *file, int delete)
{
    struct handle *h = (struct handle *)file;

    (void)delete;
    if (h->shm && !gone(h) && --h->node->shm_users == 0)
        shm_free(h->node);
    h->shm = false;
    return SQLITE_OK;
}

static const sqlite3_io_methods methods = {
    2,        f_close,   f_read,     f_write,       f_truncate,  f_sync,
    f_size,   f_lock,    f_unlock,   f_reserved,    f_control,   f_sector,
    f_device, f_shm_map, f_shm_lock, f_shm_barrier, f_shm_unmap, NULL,
    NULL};

/* ---- the file system */

static int v_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file,
                  int flags, int *ret_flags)
{
    struct disk *d = vfs->pAppData;
    struct handle *h = (struct handle *)file;
    struct node *f;

    *h = (struct handle){.disk = d, .epoch = d->epoch};
    name = name ? name : "temporary";
    f = node_find(d, name);
    if (d->dead)
        return SQLITE_CANTOPEN;
    if (!f || !f->exists) {
        if (!(flags & SQLITE_OPEN_CREATE) || d->readonly)
            return SQLITE_CANTOPEN;
        if (!f && (f = node_find(d, "")))
            memcpy(f->name, name, strnlen(name, sizeof f->name - 1));
        if (!f)
            return SQLITE_CANTOPEN;
        f->exists = true;
    }
    h->node = f;
    h->temporary = flags & SQLITE_OPEN_DELETEONCLOSE;
    h->file.pMethods = &methods;
    if (ret_flags)
        *ret_flags = flags;
    return SQLITE_OK;
}

static int v_delete(sqlite3_vfs *vfs, const char *name, int sync_folder)
{
    struct disk *d = vfs->pAppData;
    struct node *f = node_find(d, name);

    if (!f || !f->exists)
        return SQLITE_IOERR_DELETE_NOENT;
    if (!change_begins(d))
        return SQLITE_IOERR_DELETE;
    node_delete(f);
    if (sync_folder)
        ghost_forget(f);
    return SQLITE_OK;
}

static int v_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret)
{
    const struct node *f = node_find(vfs->pAppData, name);

    (void)flags;
    *ret = f && f->exists;
    return SQLITE_OK;
}

static int v_path(sqlite3_vfs *vfs, const char *name, int n, char *ret)
{
    (void)vfs;
    sqlite3_snprintf(n, ret, "%s", name);
    return SQLITE_OK;
}

static int v_random(sqlite3_vfs *vfs, int n, char *ret)
{
    (void)vfs;
    random_bytes(ret, (size_t)(n < 256 ? n : 256));
    return n;
}

static int v_sleep(sqlite3_vfs *vfs, int us)
{
    (void)vfs;
    clock_sleep_ms((us + 999) / 1000);
    return us;
}

static int v_time(sqlite3_vfs *vfs, sqlite3_int64 *ret)
{
    (void)vfs;
    *ret = INT64_C(210866760000000) + clock_wall_ms(); /* Julian, in ms */
    return SQLITE_OK;
}

static int v_error(sqlite3_vfs *vfs, int n, char *ret)
{
    (void)vfs;
    (void)n;
    (void)ret;
    return 0;
}

struct disk *disk_new(const char *name)
{
    struct disk *d = MEM_NEW(struct disk);

    d->vfs = (sqlite3_vfs){.iVersion = 2,
                           .szOsFile = sizeof(struct handle),
                           .mxPathname = 255,
                           .zName = name,
                           .pAppData = d,
                           .xOpen = v_open,
                           .xDelete = v_delete,
                           .xAccess = v_access,
                           .xFullPathname = v_path,
                           .xRandomness = v_random,
                           .xSleep = v_sleep,
                           .xGetLastError = v_error,
                           .xCurrentTimeInt64 = v_time};
    sqlite3_vfs_register(&d->vfs, 0);
    return d;
}

void disk_free(struct disk *d)
{
    sqlite3_vfs_unregister(&d->vfs);
    for (int i = 0; i < FILES; i++) {
        struct node *f = &d->files[i];

        node_synced(f);
        shm_free(f);
        ghost_forget(f);
        free(f->changes);
        free(f->v);
    }
    free(d);
}

void disk_waits(struct disk *d, void (*wait)(void *arg), void *arg)
{
    d->wait = wait;
    d->arg = arg;
}

uint64_t disk_changes(const struct disk *d)
{
    return d->changes;
}

void disk_fault_at(struct disk *d, uint64_t change, enum disk_fault f)
{
    d->fault_at = change;
    d->fault = f;
}

void disk_full(struct disk *d, bool on)
{
    d->full = on;
}

void disk_readonly(struct disk *d, bool on)
{
    d->readonly = on;
}

bool disk_is_bad(const struct disk *d)
{
    return d->full || d->readonly ||
           (d->fault_at && d->changes <= d->fault_at + 50); /* or just has */
}

bool disk_is_dead(const struct disk *d)
{
    return d->dead;
}
