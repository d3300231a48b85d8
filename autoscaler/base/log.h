/*
 * log.h - one line per event to standard error, written in one write(2).
 *
 * In a daemon a thread of the log's own does that: standard error may block, for
 * ever when nobody reads it (outbox.h).
 *
 * base, model, plan and wire never log: they return errors; control logs a
 * failure once.  Thread: any.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "outbox.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

void log_setup(enum log_level max, bool json);
/* From now on no line is waited for.  Once, before there are threads; NULL: by a
 * thread to standard error, else as whoever plays it says. */
void log_start(const struct outbox_ops *ops);
/* What is under way leaves within that time, or never does; lines after that are
 * written at once. */
void log_stop(int64_t wait_ms);
/* Of lines that could not leave; all 0 before log_start(). */
struct outbox_state log_state(void);
bool log_turn(void); /* for who plays it: outbox_turn() */
void log_line(enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)

#endif
