/* grace.pml - a pod's grace, and the clock that it is measured by: see README.md.
 *
 * kit/kube_drain.c and kube_pod.c.  The plane gives an evicted pod until a moment of its
 * own clock; ours is another, and jumps.  The drain judges by the time that the plane wrote
 * on the answer it judges by. */
#include "laws.pml"
#define GRACE 2
#define LOST_AFTER 1 /* the kubelet may be late */
#define END 7

byte plane, ours, until; /* clocks; 0: it was not evicted */
bool works = true, answered, said_done, knows;
byte wrote;            /* the time on the answer */
bool has_pod, deleted; /* and what was in it */

#ifdef CAUSE_10
#define NOW ours
#else
#define NOW wrote
#endif

active proctype all()
{
end:
    do
    :: d_step { plane < END -> plane++; ours = (ours < END -> ours + 1 : ours) }
    :: d_step { ours + 2 <= END -> ours = ours + 2 }
    :: d_step { ours > 1 -> ours = ours - 2 }
    :: d_step { works && until == 0 && plane < 3 -> until = plane + GRACE }
    /* it stops when it likes, at the end of its grace at the latest; its Pod may stay */
    :: d_step { works && until != 0 -> works = false }
    :: d_step { works && until != 0 && plane > until -> works = false }
    :: d_step { !answered && !said_done -> answered = true; wrote = plane; has_pod = true; deleted = until != 0 }
    :: d_step { answered && deleted && NOW > until + LOST_AFTER && !said_done ->
        said_done = true;
        LAW(1, !works || plane > until); /* its time is over by the clock of who gave it */
        answered = false }
    :: d_step { answered -> answered = false; has_pod = false; deleted = false }
    od
}
