/*
 * server.h - the REST API on libmicrohttpd.
 *
 * Its threads read the published status and post commands; they never touch
 * the fleet.  Refuses to listen beyond loopback without a token or TLS.
 */
#ifndef API_SERVER_H
#define API_SERVER_H

#include "../config/config.h"
#include "../control/control.h"

struct server;

enum status server_start(const struct config *c, struct control *control,
                         struct server **ret, struct err *err);
void server_stop(struct server *s);
uint32_t server_port(const struct server *s); /* the real one if 0 was asked */

/* Of api.metrics; 0 without it. */
uint32_t server_metrics_port(const struct server *s);

#endif
