/*
 * program.c - see program.h.
 */
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child_env.h"
#include "str.h"

#define WORDS_MAX 100
#define OUTPUT_MAX 65536
#define LOOK_MS 20

extern char **environ;

/* ---- words */

static void words_free(char **words)
{
    for (size_t i = 0; words && words[i]; i++)
        free(words[i]);
    free(words);
}

/* One word into s; what comes behind it, NULL: a quote is not closed. */
static const char *word_read(const char *at, struct kit_str *s)
{
    char quote = '\0';
    for (; *at != '\0' && (quote || !strchr(" \t\r\n", *at)); at++) {
        if (quote && *at == quote)
            quote = '\0';
        else if (!quote && (*at == '"' || *at == '\''))
            quote = *at;
        else if (*at == '\\' && at[1] != '\0' && quote != '\'')
            kit_str_add(s, ++at, 1);
        else
            kit_str_add(s, at, 1);
    }
    return quote ? NULL : at;
}

/* The words of a command, NULL ends; NULL: it has none, or a quote is not
 * closed. */
static char **words_of(const char *command)
{
    char **v = kit_zeroed(WORDS_MAX + 1, sizeof *v);
    size_t n = 0;
    const char *at = command + strspn(command, " \t\r\n");
    while (at && *at != '\0' && n < WORDS_MAX) {
        struct kit_str s = {0};
        at = word_read(at, &s);
        v[n++] = kit_copy(kit_str_text(&s));
        kit_str_done(&s);
        at = at ? at + strspn(at, " \t\r\n") : NULL;
    }
    if (n > 0 && at && *at == '\0')
        return v;
    words_free(v);
    return NULL;
}

/* ---- a child */

static const char **env_make(const struct kit_list *pass,
                             const char *const *also)
{
    size_t n = 0, k = 0;
    while (environ[n])
        n++;
    while (also && also[k])
        k++;
    const char **v = kit_zeroed(n + k + 1, sizeof *v);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (kit_child_env_ok(environ[i], pass))
            v[kept++] = environ[i];
    for (size_t i = 0; i < k; i++)
        v[kept++] = also[i];
    return v;
}

/* The daemon ignores some signals and blocks others; a program expects none of
 * that.  0 or an errno. */
static int spawn(char *const *words, const char **env, int out, pid_t *ret)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, usual;
    sigemptyset(&none);
    sigfillset(&usual);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&files, out, 1);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &usual);
    posix_spawnattr_setpgroup(&attr, 0);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP |
                                        POSIX_SPAWN_SETSIGMASK |
                                        POSIX_SPAWN_SETSIGDEF);
    int failed = posix_spawnp(ret, words[0], &files, &attr, words,
                              (char *const *)env);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return failed;
}

/* Until its output ends.  False: time was over, or there is too much. */
static bool read_all(const struct davit_host *host, struct davit_call *call,
                     int from, uint32_t limit_ms, struct kit_str *s)
{
    char part[4096];
    for (uint32_t waited = 0; s->n <= OUTPUT_MAX;) {
        struct pollfd p = {.fd = from, .events = POLLIN};
        if (poll(&p, 1, LOOK_MS) > 0) {
            ssize_t n = read(from, part, sizeof part);
            if (n == 0)
                return true;
            if (n < 0 && errno != EINTR)
                return false;
            kit_str_add(s, part, n > 0 ? (size_t)n : 0);
            explicit_bzero(part, sizeof part);
            continue;
        }
        waited += LOOK_MS;
        if (waited >= limit_ms || host->remaining_ms(call) == 0)
            return false;
    }
    return false;
}

/* Its output has ended; it has a moment to end itself. */
static int child_end(pid_t child, bool kill_it)
{
    int status = 0;
    for (int i = 0; !kill_it && i < 100; i++) {
        pid_t got = waitpid(child, &status, WNOHANG);
        if (got == child)
            return status;
        poll(NULL, 0, LOOK_MS);
    }
    kill(-child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static int judge(const char *what, bool whole, int status, struct kit_str *out,
                 char **ret, struct davit_error *e)
{
    if (!whole)
        return kit_error(e, DAVIT_RETRY, "Program",
                         "%.80s did not end in time, or printed too much",
                         what);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return kit_error(
            e, DAVIT_AUTH, "Program",
            "%.80s failed (%s %d): run it yourself to see why", what,
            WIFEXITED(status) ? "exit code" : "signal",
            WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    *ret = kit_copy(kit_str_text(out));
    return DAVIT_OK;
}

int kit_program_run(const struct davit_host *host, struct davit_call *call,
                    const char *what, const char *command,
                    const struct kit_list *pass, const char *const *also,
                    uint32_t limit_ms, char **ret, struct davit_error *e)
{
    struct kit_str out = {0};
    int ends[2], failed;
    pid_t child;
    *ret = NULL;
    char **words = words_of(command);
    if (!words)
        return kit_error(e, DAVIT_AUTH, "Program",
                         "%.80s is no command: a quote is not closed", what);
    if (pipe2(ends, O_CLOEXEC) != 0) {
        words_free(words);
        return kit_error(e, DAVIT_RETRY, "Program", "%.80s: %s", what,
                         strerror(errno));
    }
    const char **env = env_make(pass, also);
    failed = spawn(words, env, ends[1], &child);
    close(ends[1]);
    int st;
    if (failed) {
        st = kit_error(e, DAVIT_AUTH, "Program", "%.80s cannot be run: %s",
                       what, strerror(failed));
    } else {
        bool whole = read_all(host, call, ends[0], limit_ms, &out);
        st = judge(what, whole, child_end(child, !whole), &out, ret, e);
    }
    close(ends[0]);
    free(env);
    words_free(words);
    if (out.p)
        explicit_bzero(out.p, out.n);
    kit_str_done(&out);
    return st;
}
