/*
 * xml.h - an XML document as a tree, read with expat.
 *
 * For the replies of web services: names without their namespace, no
 * attributes, text of an element as one string.  Documents with a DOCTYPE are
 * refused (entities could grow without bound), and so is what nests or counts
 * beyond the ceilings below.  A tree belongs to who parsed it; no other state.
 *
 * Every function takes NULL for a node and then finds nothing, so that a path
 * through a reply needs one check, at its end.
 */
#ifndef KIT_XML_H
#define KIT_XML_H

#include <stddef.h>
#include <stdint.h>

#define XML_DEPTH_MAX 64
#define XML_NODES_MAX 5000000

struct xml {
    const char *name, *text;        /* text: "" when it has none */
    const struct xml *first, *next; /* children; the next sibling */
};

struct xml_doc;

/* The root, or NULL with a sentence in why. */
const struct xml *xml_parse(const char *text, size_t n, struct xml_doc **ret,
                            char *why, size_t why_size);
/* The same; elements of these names (NULL ends) are checked and left out, and
 * all below them: what nobody reads of a long reply costs half as much. */
const struct xml *xml_parse_without(const char *text, size_t n,
                                    const char *const *names,
                                    struct xml_doc **ret, char *why,
                                    size_t why_size);
const struct xml *xml_root(const struct xml_doc *doc);
void xml_free(struct xml_doc *doc);

/* The first child of that name; the next sibling of the same name. */
const struct xml *xml_child(const struct xml *x, const char *name);
const struct xml *xml_again(const struct xml *x);
/* Down "A/B/C"; the text there, or "". */
const struct xml *xml_at(const struct xml *x, const char *path);
const char *xml_text(const struct xml *x, const char *path);
/* A whole number there, or `other`. */
int64_t xml_number(const struct xml *x, const char *path, int64_t other);

#endif
