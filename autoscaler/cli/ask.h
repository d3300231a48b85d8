/*
 * ask.h - one question to one provider, for commands that run no daemon.
 */
#ifndef CLI_ASK_H
#define CLI_ASK_H

#include "../cloud/cloud.h"

/* The answer, for call_free(); NULL: it did not come in time, hangs on a worker
 * of its own, and the provider must not be closed.  Thread: main; blocks. */
struct call *ask_provider(struct provider *p, enum call_op op,
                          int64_t patience_ms);

#endif
