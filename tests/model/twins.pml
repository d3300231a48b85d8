/* twins.pml - two daemons of one journal, which was copied: see README.md.
 *
 * autoscaler/control/ours.c (is_of_copy, ours_found, ours_stands), model/mark.h.  The second
 * one begins at any time; which of them has the later incarnation is chance, as both count
 * from the same start.  Machines of before the copy are in both journals, and not here. */
#include "laws.pml"
#define OTHER(d) (1 - (d))
#define LAUNCHES 2

bool runs[2], stands[2], knows[2]; /* knows: of a younger one */
bool is_younger[2];
byte launched[2];                  /* so many machines */
bool there[2], old[2];             /* one runs; it is from before the other one began */
bool adopted[2], held[2];          /* by d: the other one's machine */

#ifdef CAUSE_8                     /* whose owner's mark is ours is ours */
#define IS_OF_COPY(d) false
#else
#define IS_OF_COPY(d) (!old[OTHER(d)])
#endif

proctype daemon(byte d)
{
end:
    do
    :: d_step { runs[d] && !stands[d] && !there[d] && launched[d] < LAUNCHES ->
        launched[d]++; there[d] = true; old[d] = !runs[OTHER(d)]; adopted[OTHER(d)] = false; held[OTHER(d)] = false }
    /* a list shows one with our mark that the journal does not know */
    :: d_step { runs[d] && there[OTHER(d)] && !adopted[d] && !held[d] && IS_OF_COPY(d) ->
        held[d] = true;
        stands[d] = stands[d] || is_younger[d]; knows[d] = !is_younger[d] }
    :: d_step { runs[d] && there[OTHER(d)] && !adopted[d] && !held[d] && !IS_OF_COPY(d) -> adopted[d] = true }
    /* it is idle here: nobody of this journal asked for it */
    :: d_step { runs[d] && !stands[d] && adopted[d] && there[OTHER(d)] ->
        LAW(4, old[OTHER(d)]); /* what was launched between copy and start looks like our own: never.md */
        there[OTHER(d)] = false; adopted[d] = false }
    :: d_step { runs[d] && !stands[d] && there[d] -> there[d] = false; adopted[OTHER(d)] = false; held[OTHER(d)] = false }
    od
}

init
{
    atomic {
        runs[0] = true;
        if
        :: is_younger[0] = true
        :: is_younger[1] = true
        fi;
        run daemon(0); run daemon(1)
    };
    runs[1] = true
}

/* As soon as the younger one has seen what the other one launched meanwhile it stands, and the other one goes on. */
ltl law_4 { [] (((held[0] && is_younger[0]) -> stands[0]) && ((held[1] && is_younger[1]) -> stands[1]) && !(stands[0] && stands[1])) }
