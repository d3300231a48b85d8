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
#include <sys/ioctl.h>
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

static unsigned number_of(const char *name)
{
    const char *text = getenv(name);
    long n = text ? strtol(text, NULL, 10) : 0;

    return n > 0 && n < 10000 ? (unsigned)n : 0;
}

static struct winsize size_now(void)
{
    struct winsize w = {0};

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) != 0)
        w = (struct winsize){0};
    return w;
}

unsigned terminal_width(void)
{
    unsigned n = number_of("COLUMNS");

    return n ? n : size_now().ws_col;
}

unsigned terminal_height(void)
{
    unsigned n = number_of("LINES");

    return n ? n : size_now().ws_row;
}

size_t terminal_cut(const char *text, size_t n, unsigned width)
{
    size_t i = 0;

    for (unsigned at = 0; i < n; i++) {
        if (text[i] == MARK && i + 1 < n) {
            i++;
            continue;
        }
        if (((unsigned char)text[i] & 0xc0) == 0x80)
            continue;
        if (at++ == width)
            break;
    }
    return i;
}

static void raw(const char *code)
{
    fflush(stdout);
    put(&streams[0], code, strlen(code));
    drain(&streams[0]);
}

void terminal_screen(bool own)
{
    raw(own ? "\033[?1049h\033[?25l" : "\033[?25h\033[?1049l");
}

void terminal_paint(const char *text)
{
    unsigned width = terminal_width(), height = terminal_height(), lines = 0;

    raw("\033[H");
    for (const char *p = text; *p && (!height || lines + 1 < height); lines++) {
        size_t n = strcspn(p, "\n");

        fwrite(p, 1, width ? terminal_cut(p, n, width) : n, stdout);
        fputs(colour(PLAIN), stdout);
        raw("\033[K\n");
        p += n + (p[n] == '\n');
    }
    raw("\033[J");
}

void terminal_up(unsigned lines)
{
    struct stream *s = &streams[0];

    fflush(stdout);
    s->n = (size_t)snprintf(s->out, sizeof s->out, "\033[%uA\033[J", lines);
    drain(s);
}
