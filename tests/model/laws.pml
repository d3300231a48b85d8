/* laws.pml - the text of a broken law tells which one it was.  -DONLY=n: no other is held. */
#ifndef ONLY
#define ONLY 0
#endif
#define LAW(n, ok) assert((ok) || (ONLY != 0 && n != ONLY) || n == 0)
