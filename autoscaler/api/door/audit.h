/*
 * audit.h - who changed what, one JSON object a line.
 *
 * 1,024 lines are kept for the API: when there are more, who has the most loses his
 * oldest.  300 lines of one caller are written at once, and two a second after that;
 * what is more is counted, in lines with "more".  With a file, all are appended to
 * it, mode 0600.  A file of 16 MiB is moved to PATH.1, the one before to PATH.2
 * and so on up to PATH.4; one that somebody moves away is left, and a new one begun.
 * Where it lacks lines that it did not take stands {"lost": so many}.  A thread of its
 * own writes: the file may block.  What is left in a crash is lost with it.  Thread:
 * any.
 */
#ifndef API_DOOR_AUDIT_H
#define API_DOOR_AUDIT_H

#include <stdint.h>

#include "../../base/arena.h"
#include "../../base/err.h"

struct audit;

/* path: "" for none.  The newest lines of a file that is there are read, each as its
 * caller's; what is no line, as a crash leaves one, is left out. */
enum status audit_open(const char *path, struct audit **ret, struct err *err);
void audit_close(struct audit *a); /* a may be NULL */
/* who: the caller with all of his accounts, share_of() of "via", "caller" and "from" of fields.
 * The line is given its id: fields is what follows, `"caller":"ops",...`. */
void audit_add(struct audit *a, int64_t wall_ms, const char *who,
               const char *fields);
/* Lines with a higher id, oldest first; *ret_missed: some before are gone. */
uint32_t audit_read(struct audit *a, int64_t after, uint32_t max,
                    struct arena *arena, const char ***ret, int64_t *ret_next,
                    bool *ret_missed);
/* So many did not reach the file: it took none, or none in time. */
uint64_t audit_dropped(struct audit *a);
/* "" or why the file cannot be written; buf of n bytes. */
const char *audit_problem(struct audit *a, char *buf, size_t n);

#endif
