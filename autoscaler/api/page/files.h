/*
 * files.h - the files that are part of the program and go out as they are.
 */
#ifndef API_PAGE_FILES_H
#define API_PAGE_FILES_H

#include <stdint.h>

/* Of the folder web/: a C name, the file's name, its type. */
#define PAGE_FILES(X) \
    X(index, "index.html", HTML) \
    X(css, "page.css", CSS) \
    X(icon, "icon.svg", SVG) \
    X(main, "main.js", JS) \
    X(net, "net.js", JS) \
    X(dom, "dom.js", JS) \
    X(show, "show.js", JS) \
    X(now, "now.js", JS) \
    X(waits, "waits.js", JS) \
    X(next, "next.js", JS) \
    X(past, "past.js", JS) \
    X(types, "types.js", JS) \
    X(nodes, "nodes.js", JS) \
    X(owners, "owners.js", JS) \
    X(whatif, "whatif.js", JS) \
    X(more, "more.js", JS)

struct page_file {
    const char *name, *type, *from, *to;
};
extern const struct page_file page_files[];
extern const uint32_t n_page_files;

#endif
