/*
 * harden.h - what this process gives up before it reads its first secret.
 */
#ifndef BASE_HARDEN_H
#define BASE_HARDEN_H

/* No core dump, no debugger or /proc reader of the same user (prctl(2),
 * PR_SET_DUMPABLE), and no more rights by what is run (PR_SET_NO_NEW_PRIVS:
 * children too, so sudo does nothing in them).  Once, before other threads. */
void harden(void);

#endif
