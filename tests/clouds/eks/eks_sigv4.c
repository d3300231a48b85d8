/*
 * eks_sigv4.c - signs what it reads, or parses the XML it reads: one JSON
 * object a line in, one out.  For the tests of autoscaler/kit.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/aws/aws.h"
#include "kit/sigv4.h"
#include "kit/xml.h"

static const char *text(const json_t *j, const char *key)
{
    const char *s = json_string_value(json_object_get(j, key));
    return s ? s : "";
}

static json_t *tree(const struct xml *x)
{
    json_t *kids = json_array();
    for (const struct xml *c = x->first; c; c = c->next)
        json_array_append_new(kids, tree(c));
    return json_pack("[s, s, o]", x->name, x->text, kids);
}

/* {"xml": text, "without": name} */
static json_t *parsed(const char *doc, const char *name)
{
    struct xml_doc *d;
    char why[200] = "";
    const char *const without[] = {*name != '\0' ? name : NULL, NULL};
    const struct xml *x = xml_parse_without(doc, strlen(doc), without, &d, why,
                                            sizeof why);
    json_t *out = x ? json_pack("{s:o}", "tree", tree(x))
                    : json_pack("{s:s}", "error", why);
    xml_free(d);
    return out;
}

static json_t *signed_(const json_t *j)
{
    struct davit_kv h[64];
    struct sigv4 s = {
        .access_key = text(j, "access"),
        .secret_key = text(j, "secret"),
        .region = text(j, "region"),
        .service = text(j, "service"),
        .date = text(j, "date"),
        .method = text(j, "method"),
        .path = text(j, "path"),
        .query = text(j, "query"),
        .headers = h,
        .body = text(j, "body"),
        .body_len = strlen(text(j, "body")),
        .keep_path = json_is_true(json_object_get(j, "keep_path"))};
    size_t i;
    json_t *v;
    json_array_foreach(json_object_get(j, "headers"), i, v)
        if (i < 64)
            h[s.n_headers++] = (struct davit_kv){
                json_string_value(json_array_get(v, 0)),
                json_string_value(json_array_get(v, 1))};
    struct kit_str a = {0}, c = {0}, t = {0};
    sigv4_sign(&s, &a, &c, &t);
    json_t *out = json_pack("{s:s, s:s, s:s}", "authz", a.p, "creq", c.p, "sts",
                            t.p);
    kit_str_done(&a);
    kit_str_done(&c);
    kit_str_done(&t);
    return out;
}

/* {"host": service's number, "region", "fips", "dual"} */
static json_t *host(const json_t *j)
{
    struct kit_str s = {0};
    aws_host((enum aws_service)json_integer_value(json_object_get(j, "host")),
             text(j, "region"), json_is_true(json_object_get(j, "fips")),
             json_is_true(json_object_get(j, "dual")), &s);
    json_t *out = json_pack("{s:s}", "url", s.p);
    kit_str_done(&s);
    return out;
}

int main(void)
{
    char *line = NULL;
    size_t cap = 0;
    while (getline(&line, &cap, stdin) > 0) {
        json_t *j = json_loads(line, 0, NULL), *out;
        if (!j)
            return 1;
        out = json_object_get(j, "xml")
                  ? parsed(text(j, "xml"), text(j, "without"))
              : json_object_get(j, "host") ? host(j)
                                           : signed_(j);
        json_dumpf(out, stdout, JSON_COMPACT);
        putchar('\n');
        fflush(stdout);
        json_decref(out);
        json_decref(j);
    }
    free(line);
    return 0;
}
