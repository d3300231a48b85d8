/*
 * http_where.c - where a request goes, read by curl's own parser, so that what
 * is judged is where it will go.
 *
 * Credentials travel by TLS, or without it to this machine and to the addresses
 * of metadata services, which no other wire carries (kit_host_here()).  Such a
 * service, and this machine, are never asked through a proxy: it would learn what
 * is not to leave, and could answer in their place.
 */
#include "http_inside.h"

#include <string.h>
#include <strings.h>

#include "../kit/options.h"

/* curl's heap; NULL: it is no URL. */
static char *host_in(const char *url)
{
    CURLU *u = curl_url();
    char *host = NULL;

    if (u && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK)
        curl_url_get(u, CURLUPART_HOST, &host, 0);
    curl_url_cleanup(u);
    return host;
}

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcasecmp(name, *names) == 0)
            return true;
    return false;
}

static bool has_one_of(const struct http_exchange *x, const char *const *names)
{
    for (size_t i = 0; i < x->n_headers; i++)
        if (is_one_of(x->headers[i].key, names))
            return true;
    return false;
}

bool http_credentials_stay(const struct http_exchange *x)
{
    static const char *const secret[] = {"Authorization",
                                         "Proxy-Authorization",
                                         "Cookie",
                                         "X-Amz-Security-Token",
                                         "X-aws-ec2-metadata-token",
                                         "X-Goog-IAM-Authorization-Token",
                                         NULL};
    char *host;
    bool here;

    if (x->unix_socket || x->plain_token || !has_one_of(x, secret))
        return true;
    host = host_in(x->url);
    /* by a proxy that was named for it alone it goes elsewhere */
    here = host && kit_host_here(host, strlen(host)) &&
           !(x->proxy && *x->proxy);
    curl_free(host);
    return here;
}

bool http_goes_direct(const struct http_exchange *x)
{
    static const char *const asks[] = {
        "Metadata-Flavor", "Metadata", "X-aws-ec2-metadata-token",
        "X-aws-ec2-metadata-token-ttl-seconds", NULL};
    static const char *const names[] = {"metadata.google.internal", "metadata",
                                        NULL};
    char *host;
    bool yes;

    if (has_one_of(x, asks))
        return true;
    host = host_in(x->url);
    yes = host &&
          (is_one_of(host, names) || kit_host_link_local(host, strlen(host)) ||
           (kit_host_here(host, strlen(host)) && !x->proxy));
    curl_free(host);
    return yes;
}
