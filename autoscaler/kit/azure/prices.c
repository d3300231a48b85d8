/*
 * prices.c - what sizes cost by Azure's public list, in dollars an hour.
 *
 * No credentials go there: learn.microsoft.com/rest/api/cost-management/
 * retail-prices/azure-retail-prices.  Nobody waits for it: the first offers of
 * a handle go out without prices, later ones ask where nothing is known or what
 * is known is old, for 3 s a page at most, and again after ten minutes when it failed.
 * These are list prices of Linux machines; discounts are not in them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../str.h"
#include "azure.h"

#define PATH "/api/retail/prices?"
#define KEPT_MS (INT64_C(6) * 3600000)
#define AGAIN_MS 600000
#define ASK_MS 3000
#define ASKED_AT_ONCE 10 /* sizes in one filter: an address has an end */
#define PAGES_MOST 20
#define DOLLARS_MOST 100000.0 /* an hour: nothing costs as much */

/* "West Europe" -> "westeurope" */
static char *region_of(const char *location)
{
    char *name = kit_print("%s", location), *to = name;
    for (const char *c = name; *c != '\0'; c++)
        if (*c != ' ')
            *to++ = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    *to = '\0';
    return name;
}

/* OData writes a quote twice. */
static void literal_add(struct kit_str *s, const char *text)
{
    kit_str_puts(s, "'");
    for (; *text != '\0'; text++)
        kit_str_puts(s, *text == '\'' ? "''" : (char[]){*text, '\0'});
    kit_str_puts(s, "'");
}

static void url_add(struct kit_str *url, const struct azure *a,
                    const char *region, const char *const *names, size_t n)
{
    struct kit_str filter = {0};
    kit_str_puts(&filter, "serviceName eq 'Virtual Machines' and priceType eq "
                          "'Consumption' and armRegionName eq ");
    literal_add(&filter, region);
    for (size_t i = 0; i < n; i++) {
        kit_str_puts(&filter, i == 0 ? " and (" : " or ");
        kit_str_puts(&filter, "armSkuName eq ");
        literal_add(&filter, names[i]);
    }
    kit_str_puts(&filter, ")");
    char *coded = kit_encode(filter.p);
    kit_str_puts(url, a->prices);
    kit_str_puts(url, PATH "$filter=");
    kit_str_puts(url, coded);
    free(coded);
    kit_str_done(&filter);
}

/* ---- what an item says */

/* Linux, by the hour, in dollars: not Windows' and not Cloud Services'. */
static bool item_counts(const json_t *item)
{
    const char *product = kit_json_text(item, "productName");
    return strcmp(kit_json_text(item, "type"), "Consumption") == 0 &&
           strcmp(kit_json_text(item, "unitOfMeasure"), "1 Hour") == 0 &&
           strcmp(kit_json_text(item, "currencyCode"), "USD") == 0 &&
           !strstr(product, " Win") && !strstr(product, "Cloud Services") &&
           !strstr(product, "CloudServices") &&
           !strstr(kit_json_text(item, "skuName"), "Low Priority");
}

/* Of several the one that came into force last counts. */
static void item_take(const json_t *item, json_t *ret)
{
    const char *name = kit_json_text(item, "armSkuName");
    bool spot = strstr(kit_json_text(item, "skuName"), " Spot");
    const char *since = kit_json_text(item, "effectiveStartDate");
    double dollars = json_number_value(json_object_get(item, "retailPrice"));
    char *key = kit_print("%s %s", spot ? "spot" : "on-demand", name);
    const json_t *was = json_object_get(ret, key);
    if (name[0] != '\0' && item_counts(item) && dollars > 0 &&
        dollars < DOLLARS_MOST &&
        (!was || strcmp(kit_json_text(was, "since"), since) < 0))
        json_object_set_new(ret, key,
                            kit_must(json_pack("{s:I, s:s}", "micros",
                                               (json_int_t)(dollars * 1e6 + .5),
                                               "since", since)));
    free(key);
}

/* ---- asking */

static int page_read(struct azure *a, struct davit_call *call,
                     struct kit_str *url, json_t *ret, struct davit_error *e)
{
    struct davit_http x = {.size = sizeof x,
                           .method = "GET",
                           .url = url->p,
                           .brief = true,
                           .timeout_ms = ASK_MS};
    size_t i;
    const json_t *item;
    int st = a->host->http(call, &x, e);
    if (st == DAVIT_OK && x.reply_status != 200)
        st = kit_error(e, DAVIT_RETRY, "NoPrices", "HTTP %d", x.reply_status);
    json_t *reply = st == DAVIT_OK ? kit_json_reply(&x, e) : NULL;
    const char *next = kit_json_text(reply, "NextPageLink");
    json_array_foreach(json_object_get(reply, "Items"), i, item)
        item_take(item, ret);
    kit_str_clear(url);
    next = strstr(next, PATH); /* its host, and a port, are named anew */
    if (next) {
        kit_str_puts(url, a->prices);
        kit_str_puts(url, next);
    }
    json_decref(reply);
    return reply || st != DAVIT_OK ? st : DAVIT_RETRY;
}

static int some_read(struct azure *a, struct davit_call *call,
                     const char *region, const char *const *names, size_t n,
                     json_t *ret, struct davit_error *e)
{
    struct kit_str url = {0};
    int st = DAVIT_OK;
    url_add(&url, a, region, names, n);
    for (int page = 0; st == DAVIT_OK && url.n > 0 && page < PAGES_MOST; page++)
        st = page_read(a, call, &url, ret, e);
    kit_str_done(&url);
    return st;
}

static int all_read(struct azure *a, struct davit_call *call,
                    const struct azure_market *m, const json_t *names,
                    json_t *ret, struct davit_error *e)
{
    const char *some[ASKED_AT_ONCE], *name;
    char *region = region_of(m->location);
    json_t *unused;
    size_t n = 0;
    int st = DAVIT_OK;
    json_object_foreach((json_t *)names, name, unused) {
        if (st != DAVIT_OK)
            break;
        some[n++] = name;
        if (n == ASKED_AT_ONCE) {
            st = some_read(a, call, region, some, n, ret, e);
            n = 0;
        }
    }
    if (st == DAVIT_OK && n > 0)
        st = some_read(a, call, region, some, n, ret, e);
    free(region);
    return st;
}

/* ---- what is kept */

/* Is it time to ask?  Takes the turn: one asks at a time. */
static bool turn_take(struct azure *a, const json_t *names)
{
    int64_t now = a->host->wall_ms();
    pthread_mutex_lock(&a->lock);
    bool first = a->prices_asked_ms == 0;
    bool known = a->list && now - a->list_ms < KEPT_MS &&
                 json_equal(a->list_of, names);
    bool turn = !first && !known && now - a->prices_asked_ms >= AGAIN_MS;
    if (first)
        a->prices_asked_ms = now - AGAIN_MS; /* the next one may */
    if (turn)
        a->prices_asked_ms = now;
    pthread_mutex_unlock(&a->lock);
    return turn;
}

static void keep(struct azure *a, const json_t *names, json_t *list)
{
    pthread_mutex_lock(&a->lock);
    json_decref(a->list);
    json_decref(a->list_of);
    a->list = list;
    a->list_of = kit_must(json_deep_copy(names));
    a->list_ms = a->host->wall_ms();
    a->prices_asked_ms = a->list_ms - AGAIN_MS; /* other sizes may be asked */
    pthread_mutex_unlock(&a->lock);
}

void azure_prices(struct azure *a, struct davit_call *call, const json_t *names,
                  struct azure_market *m)
{
    struct davit_error e = {.size = sizeof e};
    char line[300];
    if (a->prices[0] == '\0' || json_object_size(names) == 0)
        return;
    if (turn_take(a, names)) {
        json_t *list = kit_must(json_object());
        if (all_read(a, call, m, names, list, &e) == DAVIT_OK) {
            keep(a, names, list);
        } else {
            json_decref(list);
            snprintf(line, sizeof line,
                     "Azure's list prices cannot be read: %.40s: %.180s",
                     e.code, e.text);
            if (!atomic_exchange(&a->prices_told, true))
                a->host->log(2, line);
        }
    }
    pthread_mutex_lock(&a->lock);
    if (a->list)
        m->prices = kit_must(json_deep_copy(a->list));
    pthread_mutex_unlock(&a->lock);
}

int64_t azure_price(const struct azure_market *m, const char *size, bool spot)
{
    char *key = kit_print("%s %s", spot ? "spot" : "on-demand", size);
    int64_t micros = kit_json_int(json_object_get(m->prices, key), "micros",
                                  -1);
    free(key);
    return micros;
}
