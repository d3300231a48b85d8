/*
 * standby.h - what a standby answers while another daemon leads: it is alive,
 * not ready, and who leads.  At the same address as the API later; stop it
 * before server_start().
 */
#ifndef API_STANDBY_H
#define API_STANDBY_H

#include "../config/config.h"

struct standby;
enum status standby_start(const struct config *c, struct standby **ret,
                          struct err *err);
/* What is waited for; any thread. */
void standby_report(struct standby *s, const char *text);
void standby_stop(struct standby *s);

#endif
