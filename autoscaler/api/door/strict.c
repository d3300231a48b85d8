/*
 * strict.c - requests that are not to be guessed at: RFC 9112, 3 and 6.3.
 */
#include <string.h>
#include <strings.h>

#include "door.h"

static char bad_uri;

static bool hex(char c)
{
    return c && strchr("0123456789abcdefABCDEF", c);
}

/* A path with what RFC 3986 allows, and no NUL behind a percent sign. */
static bool uri_good(const char *p)
{
    if (*p != '/' && strcmp(p, "*") != 0)
        return false;
    for (; *p; p++) {
        if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7f)
            return false;
        if (*p == '%' &&
            (!hex(p[1]) || !hex(p[2]) || (p[1] == '0' && p[2] == '0')))
            return false;
    }
    return true;
}

void *strict_uri(void *arg, const char *uri, struct MHD_Connection *connection)
{
    (void)arg;
    (void)connection;
    return uri_good(uri) ? NULL : &bad_uri;
}

bool strict_is_mark(const void *context)
{
    return context == &bad_uri;
}

struct seen {
    unsigned hosts, lengths, encodings, authorizations, origins;
    bool length_bad, encoding_bad, name_bad, value_bad;
};

static bool is_token(const char *name)
{
    static const char more[] = "!#$%&'*+-.^_`|~";

    if (!*name)
        return false;
    for (; *name; name++)
        if (!((*name >= '0' && *name <= '9') ||
              (*name >= 'a' && *name <= 'z') ||
              (*name >= 'A' && *name <= 'Z') || strchr(more, *name)))
            return false;
    return true;
}

static bool is_length(const char *value)
{
    size_t n = strspn(value, "0123456789");

    return n > 0 && n < 19 && !value[n];
}

static enum MHD_Result look(void *arg, enum MHD_ValueKind kind,
                            const char *name, size_t name_size,
                            const char *value, size_t value_size)
{
    struct seen *s = arg;

    (void)kind;
    value = value ? value : "";
    s->name_bad = s->name_bad || !is_token(name) || strlen(name) != name_size;
    for (size_t i = 0; i < value_size; i++)
        s->value_bad = s->value_bad ||
                       ((unsigned char)value[i] < ' ' && value[i] != '\t');
    if (strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0) {
        s->hosts++;
    } else if (strcasecmp(name, MHD_HTTP_HEADER_AUTHORIZATION) == 0) {
        s->authorizations++;
    } else if (strcasecmp(name, MHD_HTTP_HEADER_ORIGIN) == 0) {
        s->origins++;
    } else if (strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0) {
        s->lengths++;
        s->length_bad = s->length_bad || !is_length(value);
    } else if (strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0) {
        s->encodings++;
        s->encoding_bad = s->encoding_bad || strcasecmp(value, "chunked") != 0;
    }
    return MHD_YES;
}

const char *strict_fault(struct MHD_Connection *connection, const void *context,
                         const char *version)
{
    bool newer = strcmp(version, "HTTP/1.1") == 0;
    struct seen s = {0};

    if (strict_is_mark(context))
        return "the path must begin with / and must not hold blanks, control "
               "characters, or a percent sign without two hexadecimal digits "
               "other than 00";
    if (!newer && strcmp(version, "HTTP/1.0") != 0)
        return "only HTTP/1.1 and HTTP/1.0 are spoken here";
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, look, &s);
    if (s.name_bad || s.value_bad)
        return "a header has a character that may not be there";
    if (s.hosts > 1 || (newer && s.hosts == 0))
        return "there must be one Host header";
    if (s.lengths > 1 || s.length_bad)
        return "there may be one Content-Length, of decimal digits";
    if (s.encodings > 1 || s.encoding_bad)
        return "the only Transfer-Encoding is chunked";
    if (s.encodings && (s.lengths || !newer))
        return s.lengths ? "Content-Length and Transfer-Encoding exclude each "
                           "other"
                         : "HTTP/1.0 has no Transfer-Encoding";
    if (s.authorizations > 1)
        return "there may be one Authorization header";
    if (s.origins > 1)
        return "there may be one Origin header";
    return NULL;
}
