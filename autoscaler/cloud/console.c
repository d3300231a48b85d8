/*
 * console.c - see console.h.
 *
 * Names and looks are judged as in recordings; in free text a value ends where
 * a word does.
 */
#include "console.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "../base/buf.h"
#include "../base/text.h"
#include "secrets.h"

enum { LINE_MAX_BYTES = 400, LINES_KEPT = 40 };

/* ---- one line */

/* "ESC [ 0;31 m" and "ESC ( B" (ECMA-48); how long it is, 0: none. */
static size_t escape_length(const char *s, size_t n)
{
    size_t i = 2;

    if (n < 2 || s[0] != '\033')
        return 0;
    if (s[1] == ']') { /* a title, up to BEL */
        while (i < n && s[i] != '\a' && s[i] != '\033')
            i++;
        return i < n ? i + 1 : n;
    }
    if (s[1] != '[')
        return n < 3 ? n : 2 + (s[1] == '(' || s[1] == ')');
    while (i < n && !(s[i] >= '@' && s[i] <= '~'))
        i++;
    return i < n ? i + 1 : n;
}

static void plain_add(struct buf *b, const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t skip = escape_length(s + i, n - i);
        size_t good = skip ? 0 : text_plain(s + i, n - i);

        if (good)
            buf_add(b, s + i, good);
        else if (!skip)
            buf_str(b, s[i] == '\t' ? " " : s[i] == '\a' ? "" : "?");
        i += skip ? skip : good ? good : 1;
    }
}

static size_t value_length(const char *s)
{
    static const char *const schemes[] = {"Bearer ", "Basic "};

    for (size_t i = 0; i < 2; i++)
        if (strncasecmp(s, schemes[i], strlen(schemes[i])) == 0)
            return strlen(schemes[i]) + strcspn(s + strlen(schemes[i]), " \"'");
    if (*s == '"' || *s == '\'') {
        const char *end = strchr(s + 1, *s);
        return end ? (size_t)(end - s) + 1 : strlen(s);
    }
    return strcspn(s, " &,;");
}

/* Google's guest agent begins each line of a startup script's with it. */
static bool is_prefix(const char *s, size_t n)
{
    return n == 14 && strncmp(s, "startup-script", n) == 0;
}

/* The length of "NAME=" or "NAME: " where such a name means a secret; 0: no. */
static size_t secret_name_length(const char *s)
{
    size_t n = 0, end;

    while (isalnum((unsigned char)s[n]) || s[n] == '_' || s[n] == '-')
        n++;
    end = n + (s[n] == '"' || s[n] == '\'');
    if (!n || (s[end] != '=' && s[end] != ':') || !secret_name(s, n) ||
        is_prefix(s, n))
        return 0;
    end++;
    return end + strspn(s + end, " ");
}

/* The length of "USER:PASSWORD" in "://USER:PASSWORD@host"; 0: none. */
static size_t user_length(const char *s)
{
    size_t n = strcspn(s, "/@ ");

    return s[n] == '@' ? n : 0;
}

static void named_scrub(struct buf *b, const char *s)
{
    bool fresh = true; /* not in the middle of a word */

    while (*s != '\0') {
        size_t name = fresh ? secret_name_length(s) : 0;
        size_t skip = name ? value_length(s + name) : 0;

        if (!name && strncmp(s, "://", 3) == 0 && user_length(s + 3)) {
            name = 3;
            skip = user_length(s + 3);
        }
        if (!skip)
            name = 1;
        buf_add(b, s, name);
        if (skip)
            buf_str(b, REDACTED);
        fresh = !isalnum((unsigned char)s[name - 1]) && s[name - 1] != '_';
        s += name + skip;
    }
}

/* bash -i says so of every command that has no terminal. */
static bool is_noise(const char *line)
{
    return strstr(line, "bash: cannot set terminal process group") ||
           strstr(line, "bash: no job control in this shell");
}

/* What a carriage return begins again is what a terminal shows. */
static const char *line_clean(struct arena *a, const struct secrets *none,
                              const char *s, size_t n)
{
    const char *again;
    struct buf plain, named;
    bool removed = false;
    const char *text;

    buf_init(&plain, LINE_MAX_BYTES);
    buf_init(&named, 2 * LINE_MAX_BYTES);
    while (n > 0 && s[n - 1] == '\r')
        n--;
    again = memrchr(s, '\r', n);
    n -= again ? (size_t)(again + 1 - s) : 0;
    plain_add(&plain, again ? again + 1 : s, n);
    named_scrub(&named, plain.n ? plain.s : "");
    text = secrets_scrub(none, a, arena_strdup(a, named.n ? named.s : ""),
                         &removed);
    buf_done(&plain);
    buf_done(&named);
    text += strspn(text, " ");
    return is_noise(text) ? "" : text;
}

/* ---- all of them */

/* A key has several lines, and each alone looks like nothing. */
static bool in_key(const char *s, size_t n, bool was)
{
    if (memmem(s, n, "-----BEGIN ", 11) && memmem(s, n, "PRIVATE KEY", 11))
        return true;
    return was;
}

const char *console_tail(struct arena *a, const char *text, size_t n,
                         size_t max)
{
    const char *lines[LINES_KEPT] = {0};
    uint32_t kept = 0, first;
    size_t bytes = 0;
    bool key = false;
    struct secrets *none = secrets_new();
    struct buf b;

    for (size_t i = 0, len; i < n; i += len + 1) {
        const char *end = memchr(text + i, '\n', n - i), *line;
        len = end ? (size_t)(end - text) - i : n - i;
        key = in_key(text + i, len, key);
        line = key ? "" : line_clean(a, none, text + i, len);
        if (memmem(text + i, len, "-----END ", 9)) {
            line = key ? REDACTED : line;
            key = false;
        }
        if (*line != '\0')
            lines[kept++ % LINES_KEPT] = line;
    }
    secrets_free(none);
    first = kept;
    while (first > 0 && kept - first < LINES_KEPT) {
        bytes += strlen(lines[(first - 1) % LINES_KEPT]) + 3;
        if (bytes > max)
            break;
        first--;
    }
    buf_init(&b, max);
    for (uint32_t i = first; i < kept; i++) {
        buf_str(&b, i > first ? CONSOLE_LINES : "");
        buf_str(&b, lines[i % LINES_KEPT]);
    }
    text = arena_strdup(a, b.n ? b.s : "");
    buf_done(&b);
    return text;
}
