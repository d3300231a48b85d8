/*
 * local.h - users of this machine, as the kernel knows them.  Thread: any.
 */
#ifndef API_DOOR_LOCAL_H
#define API_DOOR_LOCAL_H

#include <stdbool.h>
#include <sys/types.h>

/* Whose socket is at the other end of this TCP connection?  False: not over
 * loopback, closed already, or the kernel does not tell. */
bool local_user(int fd, uid_t *ret);
/* Is it one user?  In a user namespace (PrivateUsers= of a unit, a container) all
 * whom it does not know share one number. */
bool local_known(uid_t uid);

#endif
