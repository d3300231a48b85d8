/*
 * child.c - starting, hearing and ending the child process.
 *
 * The child leads a session of its own, so that a signal to its group reaches
 * whatever it has started and nothing else.  It is signalled by its id only
 * while it is not reaped: until then the id cannot come to mean another
 * process.  It is forked by the supervisor and asks the kernel for SIGTERM when
 * that thread dies, so that it does not survive a daemon killed by force.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec.h"

enum {
    LOG_BURST = 100,
    LOG_PER_S = 10, /* lines */
    KILL_MS = 5000, /* SIGKILL is obeyed sooner than this */
    STEP_MS = 10,
    HOW_MAX = 100,
};

static void shut(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- its stderr, line by line */

/* A chatterbox must not fill the daemon's log; it is heard all the same. */
static bool may_log(struct exec *x)
{
    int64_t now = mono_ms(), more = (now - x->log_room_ms) * LOG_PER_S / 1000;

    if (more > 0) {
        x->log_room_ms = now;
        x->log_room += more;
        if (x->log_room > LOG_BURST)
            x->log_room = LOG_BURST;
    }
    /* Once full it opens for some lines at a time, not for one. */
    if (x->log_room >= (x->log_dropped > 0 ? LOG_PER_S : 1)) {
        x->log_room--;
        return true;
    }
    x->log_dropped++;
    return false;
}

void child_log(struct exec *x, int level, const char *fmt, ...)
{
    char text[1200], all[1400];
    va_list ap;

    if (!may_log(x))
        return;
    if (x->log_dropped > 0) {
        snprintf(all, sizeof all, "exec: %s: %llu lines dropped", x->shown,
                 (unsigned long long)x->log_dropped);
        x->log_dropped = 0;
        x->host->log(1, all);
    }
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    snprintf(all, sizeof all, "exec: %.100s[%ld]: %s", x->shown,
             (long)x->child.pid, text);
    x->host->log(level, all);
}

static void partial_end(struct exec *x)
{
    struct child *c = &x->child;
    size_t n = c->partial_len;

    while (n > 0 && (c->partial[n - 1] == '\r' || c->partial[n - 1] == ' '))
        n--;
    c->partial[n] = '\0';
    c->partial_len = 0;
    if (n == 0)
        return;
    snprintf(c->words, sizeof c->words, "%.*s", (int)sizeof c->words - 1,
             c->partial);
    child_log(x, 2, "%s", c->partial);
}

bool child_hear(struct exec *x)
{
    struct child *c = &x->child;
    char text[4096];

    /* Bounded: somebody who writes for ever is heard in turns. */
    for (int i = 0; i < 16; i++) {
        ssize_t n = read(c->err, text, sizeof text);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return true;
        if (n <= 0) {
            partial_end(x);
            return false;
        }
        for (ssize_t k = 0; k < n; k++) {
            if (text[k] == '\n' || c->partial_len == sizeof c->partial - 1)
                partial_end(x);
            if (text[k] != '\n')
                c->partial[c->partial_len++] = text[k] != '\0' ? text[k] : '?';
        }
    }
    return true;
}

/* ---- in the child: async-signal-safe calls only ---- */

static void say(const char *s)
{
    if (write(2, s, strlen(s)) < 0)
        _exit(127);
}

static void cannot(const char *what, const char *name)
{
    const char *why = strerrordesc_np(errno);

    say("cannot ");
    say(what);
    say(" ");
    say(name);
    say(": ");
    say(why ? why : "unknown error");
    say("\n");
    _exit(127);
}

/* Out of the way of 0, 1 and 2. */
static int lifted(int fd)
{
    return fd > 2 ? fd : fcntl(fd, F_DUPFD, 3);
}

static void become(const struct exec *x, const char *program, int in, int out,
                   int err, pid_t daemon)
{
    sigset_t none;

    setsid();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != daemon)
        _exit(127); /* it died before we could ask to be told */
    in = lifted(in);
    out = lifted(out);
    err = lifted(err);
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
        _exit(127);
    if (syscall(SYS_close_range, 3u, ~0u, 0u) != 0)
        for (int fd = 3; fd < 4096; fd++)
            close(fd);
    for (int sig = 1; sig < 65; sig++)
        signal(sig, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (x->cwd && chdir(x->cwd) != 0)
        cannot("enter", x->cwd);
    execve(program, x->argv, x->env);
    cannot("run", program);
}

/* ---- in the daemon ---- */

/* The program's path: as it is, or in the PATH it will itself have. */
static void find_program(const struct exec *x, char *buf, size_t n)
{
    const char *path = "/usr/local/bin:/usr/bin:/bin";

    snprintf(buf, n, "%s", x->argv[0]);
    if (strchr(buf, '/'))
        return;
    for (char **v = x->env; *v; v++)
        if (strncmp(*v, "PATH=", 5) == 0)
            path = *v + 5;
    for (const char *p = path; *p != '\0';) {
        size_t len = strcspn(p, ":");

        snprintf(buf, n, "%.*s/%s", (int)len, p, x->argv[0]);
        if (len > 0 && access(buf, X_OK) == 0)
            return;
        p += len + (p[len] == ':');
    }
    snprintf(buf, n, "%s", x->argv[0]); /* execve will say that it is not */
}

static bool make_pipes(int p[3][2])
{
    for (int i = 0; i < 3; i++)
        if (pipe2(p[i], O_CLOEXEC) != 0)
            return false;
    /* Our ends only: a program does not expect EAGAIN at its own. */
    return fcntl(p[0][1], F_SETFL, O_NONBLOCK) == 0 &&
           fcntl(p[1][0], F_SETFL, O_NONBLOCK) == 0 &&
           fcntl(p[2][0], F_SETFL, O_NONBLOCK) == 0;
}

bool child_start(struct exec *x, struct verdict *why)
{
    struct child *c = &x->child;
    int p[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}}, error;
    char program[4096];
    pid_t daemon = getpid(), pid = -1;

    find_program(x, program, sizeof program);
    if (make_pipes(p)) {
        pid = fork();
        if (pid == 0)
            become(x, program, p[0][0], p[1][1], p[2][1], daemon);
    }
    error = errno;
    shut(&p[0][0]);
    shut(&p[1][1]);
    shut(&p[2][1]);
    if (pid < 0) {
        shut(&p[0][1]);
        shut(&p[1][0]);
        shut(&p[2][0]);
        verdict_set(why, DAVIT_RETRY, "FORK", "cannot start %.60s: %s",
                    x->shown, strerror(error));
        return false;
    }
    *c = (struct child){
        .pid = pid,
        .in = p[0][1],
        .out = p[1][0],
        .err = p[2][0],
        .pidfd = (int)syscall(SYS_pidfd_open, pid, 0),
        .started_ms = mono_ms(),
        .heard_ms = mono_ms(),
        .buf = kit_alloc(LINE_MAX_BYTES + 1),
    };
    child_log(x, 3, "started");
    return true;
}

bool child_exited(const struct child *c)
{
    siginfo_t info = {.si_pid = 0};

    if (waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
        return errno == ECHILD; /* somebody else reaped it */
    return info.si_pid == c->pid;
}

/* Reaps it, and ends what it left of its group. */
static void reap(struct exec *x, char *how, size_t n)
{
    struct child *c = &x->child;
    int ws = 0;
    pid_t got;

    if (c->err >= 0)
        child_hear(x); /* its last words */
    partial_end(x);
    /* While the dead leader is not reaped its number is still its group's. */
    kill(-c->pid, SIGKILL);
    do
        got = waitpid(c->pid, &ws, WNOHANG);
    while (got < 0 && errno == EINTR);
    if (got == c->pid && WIFSIGNALED(ws))
        snprintf(how, n, "was ended by signal %d (%s)", WTERMSIG(ws),
                 strsignal(WTERMSIG(ws)));
    else if (got == c->pid)
        snprintf(how, n, "ended with exit code %d", WEXITSTATUS(ws));
    else
        snprintf(how, n, "ended");
    child_log(x, got == c->pid && ws == 0 ? 3 : 1, "it %s", how);
    shut(&c->in);
    shut(&c->out);
    shut(&c->err);
    shut(&c->pidfd);
    free(c->send);
    free(c->buf);
    c->send = c->buf = NULL;
    c->pid = 0;
}

/* Meanwhile what it says is read, so that it does not stand still at a full
 * pipe with its last work undone. */
static bool wait_exit(struct exec *x, int64_t ms)
{
    struct child *c = &x->child;
    int64_t until = mono_ms() + ms;
    char waste[4096];

    while (!child_exited(c)) {
        int64_t rest = until - mono_ms();
        struct pollfd p[] = {
            {c->pidfd, POLLIN, 0}, {c->out, POLLIN, 0}, {c->err, POLLIN, 0}};

        if (rest <= 0)
            return false;
        poll(p, 3, (int)(c->pidfd < 0 && rest > STEP_MS ? STEP_MS : rest));
        if (p[1].revents != 0 && read(c->out, waste, sizeof waste) == 0)
            shut(&c->out);
        if (p[2].revents != 0 && !child_hear(x))
            shut(&c->err);
    }
    return true;
}

void child_end(struct exec *x, bool gently, char *ret_how)
{
    struct child *c = &x->child;
    bool gone = child_exited(c);

    shut(&c->in);
    if (!gone && gently)
        gone = wait_exit(x, x->grace_ms);
    if (!gone) {
        kill(-c->pid, SIGTERM);
        kill(c->pid, SIGTERM); /* it may not lead its group yet */
        kill(-c->pid, SIGCONT);
        gone = wait_exit(x, x->grace_ms);
    }
    if (!gone) {
        child_log(x, 1, "it does not end: killed");
        kill(-c->pid, SIGKILL);
        kill(c->pid, SIGKILL);
        wait_exit(x, KILL_MS);
    }
    reap(x, ret_how, HOW_MAX);
}
