/* lease.pml - two daemons, one lease, and the journal's copy in the cluster: see README.md.
 *
 * autoscaler/control/ha/lease.c and copy.c, store/kube_state.h, and send.c, by which
 * nothing leaves that is not in the copy.  Two requests are acknowledged, one machine is
 * launched.  -DCAUSE_n: a fault of before.  -DNO_x: without one of the rules. */
#include "laws.pml"
#ifndef FAULTS
#define FAULTS 4
#endif

/* ---- the cluster: a Lease, ConfigMaps */
byte holder, token, fence; /* who holds it, daemon + 1; how often it changed hands; who may write the copy */
bool fresh;                /* it was renewed within its duration */
bool copied[2], pruned;    /* the requests; somebody deleted rows, and nobody could know yet */
byte copied_id;            /* the launch's request id: the token of who made it; 0: none */
byte made;                 /* the cloud: the id under which it made a machine */
bool promised[2];          /* the users */

/* ---- daemons: those of a process that is deposed, or gives up, begin anew as standbys */
bool leads[2], valid[2];   /* by its own clocks the lease is its own still */
bool stands[2], stopped[2];/* its loop is blocked, by a log that nobody reads; all of it is */
byte mine[2], id[2];       /* its token; the launch that it knows */
bool written[2], left[2];  /* that is in the copy; it left */
bool has_a[2], has_b[2];
byte faults;

#define OTHER(d) (1 - (d))
#ifdef CAUSE_4 /* the lease is kept by a thread that does not ask whether the loop goes round */
#define GIVES_UP(d) false
#else
#define GIVES_UP(d) stands[d]
#endif
#ifdef NO_FENCE
#define MAY_WRITE(d) true
#else
#define MAY_WRITE(d) (mine[d] >= fence)
#endif

inline begins_anew(d)
{
    leads[d] = false; valid[d] = false; mine[d] = 0; id[d] = 0; written[d] = false; left[d] = false;
    has_a[d] = false; has_b[d] = false; stands[d] = false
}

inline takes(d)
{
    token++; holder = d + 1; fresh = true; mine[d] = token; fence = token;
    leads[d] = true; valid[d] = true;
    has_a[d] = copied[0]; has_b[d] = copied[1];
    id[d] = copied_id; written[d] = copied_id != 0;
    LAW(2, pruned || ((!promised[0] || has_a[d]) && (!promised[1] || has_b[d])));
    /* what was deleted less than a minute before its leader fell is lost; the machine is found by its mark */
    promised[0] = promised[0] && has_a[d]; promised[1] = promised[1] && has_b[d];
    made = (pruned && copied_id == 0 -> 0 : made);
    pruned = false
}

/* The copy is as its leader left it, or all of it is written again. */
inline copy_whole(d)
{
#ifndef CAUSE_7 /* who writes its changes alone never misses what somebody deleted */
    copied[0] = copied[0] || (has_a[d] && promised[0]); copied[1] = copied[1] || (has_b[d] && promised[1]);
    copied_id = (copied_id == 0 && written[d] -> id[d] : copied_id);
#endif
    pruned = false
}

/* Who answers a user has looked at the copy first. */
inline promises(d, i)
{
    copied[i] = true; promised[i] = true; copy_whole(d)
}

proctype keeper(byte d)
{
end:
    do
    :: d_step { !stopped[d] && !leads[d] && (holder == 0 || !fresh || holder == d + 1) && token < 5 -> takes(d) }
    :: d_step { !stopped[d] && leads[d] && holder == d + 1 && !GIVES_UP(d) -> fresh = true; valid[d] = true }
    :: d_step { !stopped[d] && leads[d] && holder == d + 1 && GIVES_UP(d) -> holder = 0; begins_anew(d) }
    :: d_step { !stopped[d] && leads[d] && holder != d + 1 -> begins_anew(d) }
    od
}

#ifdef NO_INTENT /* it leaves before it is in the copy */
#define WRITTEN(d) true
#else
#define WRITTEN(d) written[d]
#endif
#define VALID(d) valid[d]

#define RUNS(d) (leads[d] && !stands[d] && !stopped[d])

proctype loop(byte d)
{
end:
    do
    :: d_step { RUNS(d) && !has_a[d] && !promised[0] -> has_a[d] = true }
    :: d_step { RUNS(d) && !has_b[d] && !promised[1] -> has_b[d] = true }
    :: d_step { RUNS(d) && has_a[d] && !promised[0] && MAY_WRITE(d) -> promises(d, 0) }
    :: d_step { RUNS(d) && has_b[d] && !promised[1] && MAY_WRITE(d) -> promises(d, 1) }
    /* looked at each minute */
    :: d_step { RUNS(d) && pruned && MAY_WRITE(d) -> copy_whole(d) }
    /* intent before effect */
    :: d_step { RUNS(d) && promised[0] && has_a[d] && id[d] == 0 -> id[d] = mine[d] }
    :: d_step { RUNS(d) && id[d] != 0 && !written[d] && MAY_WRITE(d) -> copied_id = id[d]; written[d] = true }
    :: d_step { RUNS(d) && id[d] != 0 && WRITTEN(d) && !left[d] && VALID(d) ->
        LAW(5, made == 0 || made == id[d] || pruned);
        made = id[d]; left[d] = true }
    od
}
proctype world()
{
end:
    do
    :: d_step { fresh -> fresh = false; valid[0] = valid[0] && holder != 1; valid[1] = valid[1] && holder != 2 } /* nobody renewed it in time */
    :: d_step { faults < FAULTS && (valid[0] || valid[1]) -> faults++; valid[0] = false } /* a clock jumps */
    :: d_step { faults < FAULTS && leads[0] && !stands[0] -> faults++; stands[0] = true }
    :: d_step { faults < FAULTS && !stopped[0] -> faults++; stopped[0] = true }
    :: d_step { faults < FAULTS && !stopped[1] -> faults++; stopped[1] = true }
    :: d_step { stopped[0] -> stopped[0] = false }
    :: d_step { stopped[1] -> stopped[1] = false }
    :: d_step { faults < FAULTS && (copied[0] || copied[1] || copied_id != 0) -> faults++; copied[0] = false; copied[1] = false; copied_id = 0; pruned = true }
    :: d_step { faults < FAULTS && stands[0] -> faults++; stands[0] = false }
    od
}

init { atomic { run keeper(0); run keeper(1); run loop(0); run loop(1); run world() } }

/* A leader whose loop stands does not lead for ever: the other one does. */
ltl law_7 { [] ((leads[0] && stands[0]) -> <> (!stands[0] || stopped[0] || leads[1])) }
