/*
 * fuzz_xml.c - the replies of EC2 and Auto Scaling.  Held: no more depth and
 * nodes than promised, and what is left out is not there.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "../../autoscaler/kit/xml.h"

static size_t walk(const struct xml *x, unsigned depth)
{
    size_t n = 0;

    assert(depth <= XML_DEPTH_MAX);
    for (; x; x = x->next) {
        assert(x->name && x->text);
        n += 1 + walk(x->first, depth + 1);
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const out[] = {"tagSet", "item", NULL};
    struct xml_doc *doc;
    char why[200] = "";
    const struct xml *x = xml_parse((const char *)data, n, &doc, why,
                                    sizeof why);

    assert(x || why[0]);
    if (x) {
        assert(walk(xml_root(doc), 0) <= XML_NODES_MAX);
        xml_text(x, "item/instanceId");
        xml_number(x, "item/count", -1);
        xml_at(x, "a/b/c");
    }
    xml_free(doc);
    x = xml_parse_without((const char *)data, n, out, &doc, why, sizeof why);
    assert(!x || (!xml_child(x, "tagSet") && !xml_child(x, "item")));
    xml_free(doc);
    return 0;
}
