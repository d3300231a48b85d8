/*
 * process.c - starting, seeing and ending `ray start`.
 *
 * The process is nobody's child: forked twice into a session of its own, so
 * that it outlives the daemon.  It is known by id and start time, which no
 * other process can have under the same boot, and its whole family by a mark
 * in the environment; nothing is ever looked up by name.
 */
#include "kit/child_env.h"
#include "local.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MARK_NAME "DAVIT_LOCAL_MACHINE="
enum { ENVIRON_MAX = 1 << 20 };

extern char **environ;

void boot_id_read(char *buf, size_t n)
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, buf, n - 1) : 0;

    if (fd >= 0)
        close(fd);
    buf[got > 0 ? got : 0] = '\0';
    buf[strcspn(buf, "\n")] = '\0';
}

int process_find_program(const struct local *l, char *buf, size_t n,
                         struct davit_error *e)
{
    const char *path = getenv("PATH");

    if (strchr(l->ray, '/')) {
        snprintf(buf, n, "%s", l->ray);
        if (access(buf, X_OK) == 0)
            return DAVIT_OK;
        return kit_error(e, DAVIT_AUTH, "NO_RAY",
                         "ray: \"%.100s\" cannot be run: %s", l->ray,
                         strerror(errno));
    }
    for (const char *p = path; p && *p != '\0';) {
        size_t len = strcspn(p, ":");

        snprintf(buf, n, "%.*s/%s", (int)len, p, l->ray);
        if (len > 0 && access(buf, X_OK) == 0)
            return DAVIT_OK;
        p += len + (p[len] == ':');
    }
    return kit_error(e, DAVIT_AUTH, "NO_RAY",
                     "no program \"%.60s\" in PATH; install ray or set the "
                     "provider's `ray:` to its path",
                     l->ray);
}

/* ---- in the child: async-signal-safe calls only ---- */

static size_t number(char *to, unsigned long long v)
{
    char digits[24];
    size_t n = 0;

    do
        digits[n++] = (char)('0' + v % 10);
    while ((v /= 10) > 0);
    for (size_t i = 0; i < n; i++)
        to[i] = digits[n - 1 - i];
    return n;
}

/* A number of /proc/PID/stat, counted as proc(5) does, after the name's last
 * ')'; 0 when there is no such process or it is dead and only not reaped. */
enum { STAT_SESSION = 6, STAT_START = 22 };
static unsigned long long read_stat(const char *path, int want)
{
    char text[1024];
    unsigned long long v = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    char *p, *name_end = NULL;

    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    for (p = text; *p != '\0'; p++)
        if (*p == ')')
            name_end = p;
    if (!name_end || name_end[1] != ' ' || name_end[2] == 'Z' ||
        name_end[2] == 'X')
        return 0;
    p = name_end;
    for (int field = 2; field < want; field++) {
        while (*p != '\0' && *p != ' ')
            p++;
        if (*p == '\0')
            return 0;
        p++;
    }
    while (*p >= '0' && *p <= '9')
        v = v * 10 + (unsigned long long)(*p++ - '0');
    return v;
}

/* Everything of the daemon's but these two is let go at once: its own locks
 * must not outlive it in a child that has not become ray yet. */
static void close_others(int a, int b)
{
    unsigned low = (unsigned)(a < b ? a : b), high = (unsigned)(a < b ? b : a);

    if (syscall(SYS_close_range, high + 1, ~0u, 0u) != 0) {
        for (int fd = 3; fd < 4096; fd++)
            if (fd != a && fd != b)
                close(fd);
        return;
    }
    if (low > 3)
        syscall(SYS_close_range, 3u, low - 1, 0u);
    if (high > low + 1)
        syscall(SYS_close_range, low + 1, high - 1, 0u);
}

static void become_ray(const char *pid_path, const char *cwd, int log_fd,
                       char *const *argv, char *const *env)
{
    static const char sorry[] = "davit: cannot become ray\n";
    char line[64];
    sigset_t none;
    size_t n;
    int fd;

    fd = open(pid_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
              0600);
    if (fd < 0)
        _exit(126); /* somebody started it already */
    n = number(line, (unsigned long long)getpid());
    line[n++] = ' ';
    n += number(line + n, read_stat("/proc/self/stat", STAT_START));
    line[n++] = '\n';
    if (write(fd, line, n) != (ssize_t)n || fsync(fd) != 0)
        _exit(126);
    fd = open("/dev/null", O_RDONLY);
    if (fd < 0 || dup2(fd, 0) < 0 || dup2(log_fd, 1) < 0 ||
        dup2(log_fd, 2) < 0 || chdir(cwd) != 0)
        _exit(126);
    /* exec closes the log's number and the records' lock: whoever gets the
     * lock sees either no start or a finished one. */
    for (int sig = 1; sig < 65; sig++)
        signal(sig, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(argv[0], argv, env);
    if (write(2, sorry, sizeof sorry - 1) < 0)
        _exit(127);
    _exit(127);
}

/* ---- in the daemon ---- */

static bool sets(const struct kit_list *all, const char *variable)
{
    for (size_t i = 0; i < all->n; i++)
        if (strncmp(variable, all->v[i], strcspn(all->v[i], "=") + 1) == 0)
            return true;
    return false;
}

static bool keep_variable(const char *v, const struct kit_list *more)
{
    static const char *const drop[] = {
        /* would make the raylet a head's, or point it to another cluster */
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=",
        "RAY_ADDRESS=",
        "RAY_JOB_ID=",
        "RAY_NODE_TYPE_NAME=",
        "RAY_CLOUD_INSTANCE_ID=",
        "RAY_CLOUD_INSTANCE_TYPE_NAME=",
        "RAY_OVERRIDE_RESOURCES=",
        "RAY_OVERRIDE_LABELS=",
    };

    for (size_t i = 0; i < sizeof drop / sizeof drop[0]; i++)
        if (strncmp(v, drop[i], strlen(drop[i])) == 0)
            return false;
    return !sets(more, v);
}

static struct kit_list make_env(const struct local *l, const struct type *t,
                                const struct record *r, struct kit_keep *keep)
{
    const struct davit_kv ours[] = {
        {MARK_NAME, r->mark},
        {"RAY_CLOUD_INSTANCE_ID=", r->id},
        {"RAY_NODE_TYPE_NAME=", t->name},
        {"RAY_CLOUD_INSTANCE_TYPE_NAME=",
         t->machine[0] != '\0' ? t->machine : t->name},
        {"RAY_enable_autoscaler_v2=", "1"},
        {"PYTHONUNBUFFERED=", "1"}, /* its log is read while it runs */
    };
    /* what Ray and its workers read; RAY_AUTH_TOKEN is theirs too */
    static const char *const theirs[] = {"RAY_*", "CUDA_*", "NVIDIA_*",
                                         "CONDA_*"};
    struct kit_list own = {0}, all = {0}, pass = {0};

    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        kit_list_add(keep, &own,
                     kit_keep_print(keep, "%s%s", ours[i].key, ours[i].value));
    if (r->join[0] != '\0' && !sets(&t->env, "RAY_OVERRIDE_LABELS="))
        kit_list_add(keep, &own,
                     kit_keep_print(keep, "RAY_OVERRIDE_LABELS={\"%s\":\"%s\"}",
                                    KIT_JOIN_LABEL, r->join));
    for (size_t i = 0; i < l->env.n; i++)
        if (keep_variable(l->env.v[i], &t->env))
            kit_list_add(keep, &own, l->env.v[i]);
    for (size_t i = 0; i < t->env.n; i++)
        kit_list_add(keep, &own, t->env.v[i]);
    for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++)
        kit_list_add(keep, &pass, theirs[i]);
    for (size_t i = 0; i < l->pass.n; i++)
        kit_list_add(keep, &pass, l->pass.v[i]);
    for (char **v = environ; v && *v; v++)
        if (kit_child_env_ok(*v, &pass) && keep_variable(*v, &own))
            kit_list_add(keep, &all, *v);
    for (size_t i = 0; i < own.n; i++)
        kit_list_add(keep, &all, own.v[i]);
    return all;
}

static struct kit_list make_args(const struct local *l, const struct type *t,
                                 const struct record *r, const char *program,
                                 struct kit_keep *keep)
{
    const struct davit_kv ours[] = {
        {program, ""},
        {"start", ""},
        {"--block", ""},
        {"--address=", l->head},
        {"--node-ip-address=", r->address},
        {"--node-name=", r->id},
        {"--temp-dir=", r->temp},
        {"--min-worker-port=", "0"},
        {"--max-worker-port=", "0"},
        {"--disable-usage-stats", ""},
        {"--log-style=", "pretty"}, /* its last words are for people */
        {"--log-color=", "false"},
    };
    struct kit_list a = {0};

    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        kit_list_add(keep, &a,
                     kit_keep_print(keep, "%s%s", ours[i].key, ours[i].value));
    for (size_t i = 0; i < l->args.n; i++)
        kit_list_add(keep, &a, l->args.v[i]);
    for (size_t i = 0; i < t->args.n; i++)
        kit_list_add(keep, &a, t->args.v[i]);
    return a;
}

/* The parent of the temp dirs lies in /tmp: it must be ours. */
static int make_temp(const struct local *l, const struct record *r,
                     struct davit_error *e)
{
    struct stat st;

    if (mkdir(l->temp, 0700) != 0 && errno != EEXIST)
        return kit_error(e, DAVIT_AUTH, "IO", "temp_dir: %.100s: %s", l->temp,
                         strerror(errno));
    if (lstat(l->temp, &st) != 0 || !S_ISDIR(st.st_mode) ||
        st.st_uid != geteuid() || (st.st_mode & 022) != 0)
        return kit_error(e, DAVIT_AUTH, "UNSAFE",
                         "temp_dir: %.100s is not a directory that only you may"
                         " write",
                         l->temp);
    if (mkdir(r->temp, 0700) != 0 && errno != EEXIST)
        return kit_error(e, DAVIT_RETRY, "IO", "%.72s: %s", r->temp,
                         strerror(errno));
    return DAVIT_OK;
}

int process_start(const struct local *l, const struct type *t,
                  const struct record *r, const char *program, int lock,
                  struct davit_error *e)
{
    char log_path[4096], pid_path[4096];
    struct kit_keep keep = {0};
    struct kit_list argv, env;
    int log_fd, ws = 1, status = make_temp(l, r, e);
    pid_t child;

    if (status != DAVIT_OK)
        return status;
    record_path(l, r, "log", log_path, sizeof log_path);
    record_path(l, r, "pid", pid_path, sizeof pid_path);
    log_fd = open(log_path,
                  O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (log_fd < 0)
        return kit_error(e, DAVIT_RETRY, "IO", "%.140s: %s", log_path,
                         strerror(errno));
    argv = make_args(l, t, r, program, &keep);
    env = make_env(l, t, r, &keep);
    child = fork();
    if (child == 0) {
        pid_t ray;

        close_others(log_fd, lock);
        setsid();
        ray = fork();
        if (ray == 0) {
            /* Its own session too: a signal to its group reaches all of the
             * machine and nothing else. */
            setsid();
            become_ray(pid_path, r->temp, log_fd, argv.v, env.v);
        }
        _exit(ray < 0);
    }
    while (child > 0 && waitpid(child, &ws, 0) < 0)
        if (errno != EINTR) {
            ws = 0; /* reaped by somebody else: list() will find out */
            break;
        }
    close(log_fd);
    kit_keep_done(&keep);
    if (child < 0 || ws != 0)
        return kit_error(e, DAVIT_RETRY, "FORK", "cannot start a process: %s",
                         strerror(child < 0 ? errno : EAGAIN));
    return DAVIT_OK;
}

/* A handle on the recorded process that cannot come to mean another one, or
 * -1 when it is gone. */
static int open_process(const struct record *r)
{
    char path[64], boot[40];
    int fd;

    boot_id_read(boot, sizeof boot);
    if (r->pid <= 1 || strcmp(boot, r->boot_id) != 0)
        return -1;
    fd = (int)syscall(SYS_pidfd_open, r->pid, 0);
    if (fd < 0)
        return -1;
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)r->pid);
    if (r->start == 0 || read_stat(path, STAT_START) != r->start) {
        close(fd);
        return -1;
    }
    return fd;
}

bool process_alive(const struct record *r)
{
    int fd = open_process(r);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

void process_term(const struct record *r)
{
    int fd = open_process(r);

    if (fd < 0)
        return;
    syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0);
    close(fd);
}

bool process_joined(const struct record *r)
{
    DIR *d = opendir(r->temp);
    struct dirent *entry;
    bool found = false;

    while (d && !found && (entry = readdir(d))) {
        char path[512];

        if (strncmp(entry->d_name, "session_", 8) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s/sockets/raylet", r->temp,
                 entry->d_name);
        found = access(path, F_OK) == 0;
    }
    if (d)
        closedir(d);
    return found;
}

static bool carries_mark(const char *pid, const char *mark, char *room)
{
    char path[300], want[64];
    size_t n = 0, len;
    ssize_t got;
    int fd;

    snprintf(path, sizeof path, "/proc/%s/environ", pid);
    len = (size_t)snprintf(want, sizeof want, MARK_NAME "%s", mark) + 1;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    while (n < ENVIRON_MAX && (got = read(fd, room + n, ENVIRON_MAX - n)) > 0)
        n += (size_t)got;
    close(fd);
    return memmem(room, n, want, len);
}

/* Ray's processes write their titles over their environment.  The session
 * tells as well, but its number may mean another one once the leader is dead:
 * then the process must also stand in the machine's own directory. */
static bool in_session(const char *pid, const struct record *r,
                       bool leader_alive)
{
    char path[300], cwd[512];
    size_t len = strlen(r->temp);
    ssize_t n;

    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    if (r->pid <= 1 ||
        read_stat(path, STAT_SESSION) != (unsigned long long)r->pid)
        return false;
    if (leader_alive)
        return true;
    snprintf(path, sizeof path, "/proc/%s/cwd", pid);
    n = readlink(path, cwd, sizeof cwd - 1);
    if (n < (ssize_t)len || strncmp(cwd, r->temp, len) != 0)
        return false;
    cwd[n] = '\0';
    return cwd[len] == '\0' || cwd[len] == '/' || cwd[len] == ' ';
}

unsigned process_family(const struct record *r, int sig)
{
    DIR *d = opendir("/proc");
    char *room = kit_alloc(ENVIRON_MAX);
    bool alive = process_alive(r);
    struct dirent *entry;
    unsigned n = 0;

    while (d && (entry = readdir(d))) {
        char path[300];
        long pid = strtol(entry->d_name, NULL, 10);
        int fd;

        if (pid <= 1 || pid == (long)getpid())
            continue;
        fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
        if (fd < 0)
            continue; /* gone meanwhile */
        snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
        /* The handle is older than the look: it cannot be another process. */
        if (read_stat(path, STAT_START) != 0 &&
            (in_session(entry->d_name, r, alive) ||
             carries_mark(entry->d_name, r->mark, room))) {
            n++;
            if (sig != 0)
                syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0);
        }
        close(fd);
    }
    if (d)
        closedir(d);
    free(room);
    return n;
}
