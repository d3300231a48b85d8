/*
 * terminal.c - see terminal.h.
 *
 * Colours pass as a mark of two bytes, MARK and a digit, which is no UTF-8: no
 * name of anybody's can hold it unless it is broken, and then it is a colour.
 */
#include "terminal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/text.h"

#define MARK '\xff'

struct stream {
    int fd;
    char half[4]; /* of a character that comes in two writes */
    size_t n_half;
    char out[8192];
    size_t n;
};

static struct stream streams[2] = {{.fd = STDOUT_FILENO},
                                   {.fd = STDERR_FILENO}};

static bool drain(struct stream *s)
{
    size_t done = 0;

    while (done < s->n) {
        ssize_t n = write(s->fd, s->out + done, s->n - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            s->n = 0;
            return false;
        }
        done += (size_t)n;
    }
    s->n = 0;
    return true;
}

static bool put(struct stream *s, const char *p, size_t n)
{
    if (s->n + n > sizeof s->out && !drain(s))
        return false;
    memcpy(s->out + s->n, p, n);
    s->n += n;
    return true;
}

static const char *const codes[] = {"\033[0m",  "\033[1m",  "\033[2m",
                                    "\033[32m", "\033[33m", "\033[31m"};
enum { COLOURS = sizeof codes / sizeof *codes };

/* One character; how many bytes it took, 0: the rest of it is still to come. */
static size_t show(struct stream *s, const char *p, size_t n, bool *good)
{
    unsigned char first = (unsigned char)*p;
    size_t whole = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    size_t len = text_plain(p, n);
    char shown[8];

    if (len || *p == '\n' || *p == '\t') {
        len = len ? len : 1;
        *good = put(s, p, len);
    } else if (*p == MARK && n > 1 && p[1] >= '0' && p[1] < '0' + COLOURS) {
        const char *code = codes[p[1] - '0'];

        len = 2;
        *good = put(s, code, strlen(code));
    } else if ((*p == MARK && n < 2) ||
               (first >= 0xc2 && first <= 0xf4 && n < whole)) {
        return 0;
    } else {
        len = text_escape(p, n, shown);
        *good = put(s, shown, strlen(shown));
    }
    return len;
}

/* What is kept of an earlier write goes on with the bytes of this one, until
 * it ends with a whole character; false: it could not be written. */
static bool halves(struct stream *s, const char *p, size_t n, size_t *at)
{
    bool good = true;

    while (good && s->n_half) {
        size_t used = show(s, s->half, s->n_half, &good);

        if (used) {
            memmove(s->half, s->half + used, s->n_half - used);
            s->n_half -= used;
        } else if (*at < n && s->n_half < sizeof s->half) {
            s->half[s->n_half++] = p[(*at)++];
        } else {
            break;
        }
    }
    return good;
}

static ssize_t take(void *cookie, const char *p, size_t n)
{
    struct stream *s = cookie;
    size_t at = 0;
    bool good = halves(s, p, n, &at);

    while (good && at < n) {
        size_t used = show(s, p + at, n - at, &good);

        if (!used) {
            memcpy(s->half, p + at, n - at);
            s->n_half = n - at;
            break;
        }
        at += used;
    }
    return drain(s) && good ? (ssize_t)n : -1;
}

void terminal_open(void)
{
    const cookie_io_functions_t io = {.write = take};
    FILE *out = fopencookie(&streams[0], "w", io);
    FILE *err = fopencookie(&streams[1], "w", io);

    if (!out || !err)
        abort();
    setvbuf(out, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, 4096);
    setvbuf(err, NULL, _IOLBF, 4096);
    stdout = out;
    stderr = err;
}

bool terminal(void)
{
    const char *term = getenv("TERM");

    return isatty(STDOUT_FILENO) && !(term && strcmp(term, "dumb") == 0);
}

const char *colour(enum colour c)
{
    static const char marks[][3] = {"\xff"
                                    "0",
                                    "\xff"
                                    "1",
                                    "\xff"
                                    "2",
                                    "\xff"
                                    "3",
                                    "\xff"
                                    "4",
                                    "\xff"
                                    "5"};
    const char *no = getenv("NO_COLOR");

    return terminal() && !(no && *no) ? marks[c] : "";
}

void terminal_up(unsigned lines)
{
    struct stream *s = &streams[0];

    fflush(stdout);
    s->n = (size_t)snprintf(s->out, sizeof s->out, "\033[%uA\033[J", lines);
    drain(s);
}
