/* life.pml - the life of a launch and its end: see README.md.
 *
 * Two records, each with at most one machine of its launch and that machine's
 * node, so that one number names all three.  The cloud has ids 1 and 2 and gives
 * them again.  -DREST: no head tells of work.  -DCAUSE_n: a fault of before.
 * A time that only matters by what it is compared with is the answer to that
 * comparison: view_since is began_ms >= since_ms. */
#ifdef REST
#define NO_HEAD true
#else
#define NO_HEAD false
#endif
/* What may happen beside that, one model's size kept small by leaving out some:
 * LIES       a row of a list is not so, never twice in a row of one machine
 * LOSSES     replies are lost
 * RESTARTS   the daemon begins anew
 * HIDES      a living node is missing from views, for as long as it likes
 * HIDES_YOUNG  also of one that joined after its end had been asked for
 * REVIVES    another raylet begins on a machine whose first one died
 * FORGETS    the head forgets what it agreed to
 * TAKES      the cloud takes a machine back, or it never comes up
 * PLAIN      no launch is refused, or accepted without a name, or late in lists; a plan never
 *            changes its mind; what a head is asked to drain is idle; raylets die with machines
 * ONE_ID     the cloud has one id; a machine is bought while another one is to end, and stays
 * LISTS_NOW, VIEWS_NOW  nothing happens between the asking and the answer
 * TWO        there are two machines, and ids are given again */
#ifndef LIES
#define LIES false
#endif
#ifndef LOSSES
#define LOSSES false
#endif
#ifndef RESTARTS
#define RESTARTS false
#endif
#ifndef HIDES
#define HIDES false
#endif
#ifndef REVIVES
#define REVIVES false
#endif
#ifndef FORGETS
#define FORGETS false
#endif
#ifndef ONE_ID
#define ONE_ID false
#endif
#ifndef PLAIN
#define PLAIN false
#endif
#ifndef HIDES_YOUNG
#define HIDES_YOUNG false
#endif
#ifndef LISTS_NOW
#define LISTS_NOW false
#endif
#ifndef VIEWS_NOW
#define VIEWS_NOW false
#endif
#ifndef TAKES
#define TAKES false
#endif

/* a machine's state in the ledger, as in state.h; one that is gone may be launched anew */
#define GONE 0
#define INTENDED 1
#define REQUESTED 2
#define STARTING 3
#define READY 4
#define DRAINING 5
#define STOPPING 6
/* a row of a list */
#define ABSENT 0
#define RUNS 1
#define STOPS 2
#define FAILS 3
/* a node in a view */
#define NO 0
#define USED 1
#define DRAINED 2
#define DEAD 3
#define KNOWN 0
#define UNKNOWN 1
#define TELLS 2
/* a question to the head, and its answer */
#define ASK_IDLE 1
#define ASK_MUST 2
#define SAID_YES 3
#define SAID_NO 4

#include "laws.pml"

/* ---- the cloud */
bool vm[2], going[2], broken[2], lied[2], made[2], pending[2], end_comes[2];
byte vid[2];
/* ---- the head */
byte node[2], name[2];
bool work[2], inc[2], over[2], shown[2];
byte unknown[2]; /* that its node is in use: nobody could know; the view under way will tell */
bool need[2]; /* REST: a request counts on it */
/* ---- calls and readings under way */
bool launching[2], ending[2], idle[2];
byte drain[2];
bool list_out, view_out;
byte row[2], row_id[2];
bool list_aged[2], list_began;
byte seen_node[2];
bool seen_inc[2], read_since[2], view_old;
/* ---- the ledger */
byte st[2], cid[2], ray[2], said[2];
bool doubt[2], given_up[2], sent_end[2], ended[2], fails[2], taken[2], missed[2], was_ready[2],
     accepted[2], timer[2], listed[2], in_list[2], aged[2], view_since[2], must[2], agreed_since[2];
byte node_view[2], before[2];
bool node_inc[2], list_since_launch, recent;
#ifdef CAUSE_3
bool looked[2];
#endif

/* ---- which node is a machine's: claims.c */
#define IS_ALIVE(q) (node_view[q] == USED || node_view[q] == DRAINED)
#define IS_NAMED(q, r) (node_view[q] != NO && cid[r] != 0 && name[q] == cid[r])
#define ID_OF(q) (1 + 2 * (q) + node_inc[q])
#define IS_KNOWN(r, q) (ray[r] == ID_OF(q))
#define IS_NODE(q) (ray[q] == 1 + 2 * q + inc[q])
#define WAS_BEFORE(q, r) ((q) != (r) && before[r] == ID_OF(q))
#define IS_ANOTHERS(q, r) (st[O(r)] != GONE && IS_KNOWN(O(r), q) && IS_NAMED(q, O(r)))
#define MAY_BE(q, r) (IS_NAMED(q, r) && !WAS_BEFORE(q, r) && (IS_KNOWN(r, q) || !IS_ANOTHERS(q, r)))
#define CLAIMS(q, r) (IS_ALIVE(q) && MAY_BE(q, r))
#define CONTESTED(r) (CLAIMS(0, r) && CLAIMS(1, r))
#define LIVE(r) (CLAIMS(0, r) != CLAIMS(1, r))
#define NODE(r) (CLAIMS(0, r) -> 0 : 1)
#define SAME_NODE(r) IS_KNOWN(r, NODE(r))
#define DRAINED_NOW(r) (node_view[NODE(r)] == DRAINED)
#define DIES(q, r) (node_view[q] == DEAD && MAY_BE(q, r))
#define KNOWN_DEAD(r) ((DIES(0, r) && IS_KNOWN(r, 0)) || (DIES(1, r) && IS_KNOWN(r, 1)))
#define ANOTHER_DEAD(r) ((DIES(0, r) && !IS_KNOWN(r, 0)) || (DIES(1, r) && !IS_KNOWN(r, 1)))

#define LAUNCH_UNDER_WAY (launching[0] || launching[1])
/* nobody answered it, and it may come in still */
#define UNANSWERED(q) (st[q] == INTENDED && doubt[q] && !aged[q])
#define MAY_COME (UNANSWERED(0) || UNANSWERED(1))
#include "last_look.pml"

/* ---- what the ledger makes of it */
#ifdef CAUSE_2 /* what is not found never joined */
#define IS_MISSING(r) false
#else
#define IS_MISSING(r) (st[r] <= STARTING && cid[r] != 0 && was_ready[r] && !LIVE(r) && !(fails[r] && said[r] == FAILS) && !taken[r])
#endif

#define PHASE_OF(r) (broken[r] -> FAILS : (going[r] -> STOPS : RUNS))
#ifdef CAUSE_6 /* one reading of a phase is final */
#define TWICE_IS_ONCE true
#else
#define TWICE_IS_ONCE false
#endif
#ifdef CAUSE_9 /* what was agreed is remembered */
#define FORGETTING_IS_SEEN false
#define STILL_DRAINS(r) true
#define LOOKS(r) (id_is_its_own(r) && is_still_that(r) && work_is_known(r) && (accepted[r] || no_work_came(r)))
#else
#define FORGETTING_IS_SEEN true
#define STILL_DRAINS(r) source_drains_still(r)
#define LOOKS(r) (WITHOUT == 0 -> last_look(r) : looks(r))
#endif

inline to(r, s)
{
    view_since[r] = false; read_since[r] = false; missed[r] = false;
    if
    :: s == READY -> accepted[r] = false; timer[r] = false; was_ready[r] = true; must[r] = false
    :: s == GONE ->
        cid[r] = 0; ray[r] = 0; said[r] = ABSENT; doubt[r] = false; given_up[r] = false;
        sent_end[r] = false; ended[r] = false; fails[r] = false; taken[r] = false; was_ready[r] = false;
        accepted[r] = false; timer[r] = false; listed[r] = false; in_list[r] = false; aged[r] = false;
        must[r] = false; agreed_since[r] = false; before[r] = 0; need[r] = false; drain[r] = 0
    :: else
    fi;
    st[r] = s
}

inline joined(r)
{
    ray[r] = ID_OF(NODE(r)); fails[r] = false; drain[r] = 0;
    to(r, READY)
}

/* The first way on the road to an end: ends.c. */
inline end(r)
{
    if
    :: NO_HEAD -> to(r, STOPPING)
    :: else -> to(r, DRAINING); drain[r] = 0
    fi
}

/* ---- a list comes in: lists.c, machines.c, settle.c */
inline phase(r, p)
{
    if
    :: p == FAILS && st[r] < STOPPING && (said[r] == p || TWICE_IS_ONCE) ->
        fails[r] = true
    :: p == STOPS && (said[r] == p || sent_end[r] || TWICE_IS_ONCE) ->
        ended[r] = true;
        taken[r] = taken[r] || st[r] != STOPPING
    :: p == RUNS && said[r] == p && st[r] < STOPPING && (taken[r] || fails[r]) ->
        fails[r] = false; taken[r] = false; ended[r] = false;
        if
        :: st[r] == DRAINING && !accepted[r] && ray[r] != 0 -> drain[r] = 0; to(r, READY)
        :: st[r] == DRAINING && !accepted[r] && ray[r] == 0 -> to(r, STARTING)
        :: else
        fi
    :: else
    fi;
    said[r] = p;
    if
    :: NO_HEAD && p == RUNS && st[r] == STARTING -> to(r, READY)
    :: else
    fi
}

/* A row, or an answer's machine: whose it is, and what it says. */
inline seen(r, id, p, is_list)
{
    cid[r] = id; missed[r] = false; given_up[r] = false; doubt[r] = false;
    if
    :: is_list -> listed[r] = true; in_list[r] = true
    :: else
    fi;
    if
    :: st[r] < STARTING -> to(r, STARTING)
    :: else
    fi;
    phase(r, p)
}

#ifdef CAUSE_1 /* an id is one machine for ever */
#define IS_THAT(r, q) (st[r] != GONE && cid[r] == row_id[q])
#else
#define IS_THAT(r, q) (r == q && st[r] != GONE && cid[r] == row_id[q])
#endif
#ifdef CAUSE_13 /* what is ready has its id for good */
#define HAS_PLACE(q) (st[q] != GONE && (cid[q] == 0 || (ray[q] == 0 && st[q] < READY)))
#else
#define HAS_PLACE(q) (st[q] != GONE && (cid[q] == 0 || (ray[q] == 0 && (st[q] < READY || !listed[q]))))
#endif

inline row_folds(q)
{
    if
    :: row[q] == ABSENT
    :: row[q] != ABSENT && IS_THAT(0, q) -> seen(0, row_id[q], row[q], true)
    :: row[q] != ABSENT && !IS_THAT(0, q) && IS_THAT(1, q) -> seen(1, row_id[q], row[q], true)
    :: row[q] != ABSENT && !IS_THAT(0, q) && !IS_THAT(1, q) && HAS_PLACE(q) -> seen(q, row_id[q], row[q], true)
    :: else ->
#ifndef CAUSE_1
        /* it would be adopted beside the record of its launch: one machine counts as two */
        LAW(5, false)
#else
        skip
#endif
    fi
}

/* A good list lacks it: settle_absent(). */
inline absent(r)
{
    if
    :: st[r] == GONE || in_list[r]
    :: else ->
        said[r] = ABSENT;
               if
        :: !listed[r] && !list_aged[r] /* newer than the list may know */
        :: (st[r] == INTENDED || st[r] == REQUESTED) && (listed[r] || list_aged[r]) && (!given_up[r] || launching[r])
        :: st[r] == INTENDED && !doubt[r] && !launching[r]
        :: else ->
            if
            :: missed[r] ->
                LAW(3, !vm[r] && !(pending[r] && !made[r])); /* it was forgotten while it is, or may be, on the bill */
                to(r, GONE)
            :: else -> missed[r] = true
            fi
        fi
    fi
}

inline list_folds()
{
    in_list[0] = false; in_list[1] = false;
    row_folds(0); row_folds(1);
    list_since_launch = list_began;
    absent(0); absent(1);
    list_out = false; row[0] = ABSENT; row[1] = ABSENT; row_id[0] = 0; row_id[1] = 0;
    list_aged[0] = false; list_aged[1] = false; list_began = false
}

/* ---- a view comes in: joins.c */
inline machine_unknown(r)
{
    ray[r] = 0; accepted[r] = false; fails[r] = false; drain[r] = 0;
    to(r, STARTING)
}

inline present(r)
{
    if
    :: LIVE(r) && !SAME_NODE(r) -> joined(r)
    :: LIVE(r) && SAME_NODE(r) && accepted[r] && !DRAINED_NOW(r) && FORGETTING_IS_SEEN && agreed_since[r] ->
        fails[r] = false; drain[r] = 0; to(r, READY)
    :: LIVE(r) && SAME_NODE(r) && !accepted[r] && DRAINED_NOW(r) ->
        if
        :: st[r] == READY -> to(r, DRAINING)
        :: else
        fi;
        accepted[r] = true; timer[r] = false
    :: !LIVE(r) && KNOWN_DEAD(r) ->
        if
        :: st[r] == READY -> fails[r] = true
        :: else
        fi;
        to(r, STOPPING)
    :: !LIVE(r) && !KNOWN_DEAD(r) && !(st[r] == DRAINING && accepted[r]) -> machine_unknown(r)
    :: else
    fi
}

inline joins(r)
{
    if
    :: st[r] == GONE
    :: st[r] != GONE && CONTESTED(r) && st[r] < STOPPING ->
        if
        :: st[r] == DRAINING && !accepted[r] && ray[r] != 0 -> drain[r] = 0; fails[r] = false; to(r, READY)
        :: st[r] == DRAINING && !accepted[r] && ray[r] == 0 -> fails[r] = false; to(r, STARTING)
        :: else
        fi
    :: st[r] == STOPPING && was_ready[r] && ray[r] != 0 && !sent_end[r] && !taken[r] && !CONTESTED(r) && !LIVE(r) && !KNOWN_DEAD(r) ->
        machine_unknown(r)
    :: st[r] == STOPPING && LIVE(r) && !taken[r] && !(SAME_NODE(r) && (DRAINED_NOW(r) || !agreed_since[r])) ->
        if
        :: !sent_end[r] -> joined(r)
        :: else ->
            ray[r] = ID_OF(NODE(r)); fails[r] = true; accepted[r] = false; timer[r] = false; was_ready[r] = true;
            to(r, DRAINING)
        fi
    :: !CONTESTED(r) && (st[r] == INTENDED || st[r] == REQUESTED || st[r] == STARTING || (st[r] == DRAINING && ray[r] == 0)) ->
        if
        :: LIVE(r) -> joined(r)
        :: !LIVE(r) && ANOTHER_DEAD(r) -> fails[r] = true; to(r, STOPPING)
        :: else
        fi
    :: !CONTESTED(r) && (st[r] == READY || (st[r] == DRAINING && ray[r] != 0)) -> present(r)
    :: else
    fi
}

inline view_ends()
{
    view_out = false; view_old = false; seen_node[0] = NO; seen_node[1] = NO; seen_inc[0] = 0; seen_inc[1] = 0;
    read_since[0] = false; read_since[1] = false
}

inline view_folds()
{
    node_view[0] = seen_node[0]; node_view[1] = seen_node[1];
    node_inc[0] = seen_inc[0]; node_inc[1] = seen_inc[1];
    view_since[0] = read_since[0]; view_since[1] = read_since[1];
    unknown[0] = (unknown[0] == TELLS -> KNOWN : unknown[0]);
    unknown[1] = (unknown[1] == TELLS -> KNOWN : unknown[1]);
    recent = !view_old;
    joins(0); joins(1);
    shown[0] = shown[0] || (IS_NODE(0) && (was_ready[0] || HIDES_YOUNG)); shown[1] = shown[1] || (IS_NODE(1) && (was_ready[1] || HIDES_YOUNG));
    agreed_since[0] = accepted[0]; agreed_since[1] = accepted[1];
    view_ends()
}

/* ---- the end of a machine leaves */
#define HITS(q, r) (vm[q] && !going[q] && vid[q] == cid[r])

inline end_hits(q, r)
{
    if
    :: HITS(q, r) ->
#ifdef REST
        LAW(1, !need[q] || (q == r && (must[r] || broken[q])));
        LAW(4, q == r || cid[q] != vid[q]); /* another one, which the ledger knows by that id */
#else
        LAW(1, !(node[q] == USED && unknown[q] == KNOWN));                          /* nobody agreed */
        LAW(1, !(node[q] == DRAINED && work[q] && !over[q] && unknown[q] == KNOWN)); /* its work has time left */
#endif
        end_comes[q] = true
    :: else
    fi
}

inline end_leaves(r)
{
    end_hits(0, r); end_hits(1, r);
    sent_end[r] = true; ending[r] = true
}

#define FREE(id) (!(vm[0] && vid[0] == id) && !(vm[1] && vid[1] == id))
#define LAUNCHED(r) (vm[r] || node[r] != NO || pending[r] || end_comes[r] || launching[r] || ending[r])

inline vm_comes(q, id)
{
    pending[q] = false;
    if
    :: made[q] /* it knows the request again */
    :: else -> vm[q] = true; made[q] = true; vid[q] = id; name[q] = id; going[q] = false; broken[q] = false; lied[q] = false
    fi
}

inline vm_goes(q)
{
    vm[q] = false; vid[q] = 0; going[q] = false; broken[q] = false; lied[q] = false; end_comes[q] = false; need[q] = false
}

/* ---- all that may happen next; each is one step */
#define CALL_CHANGES list_began = false; list_since_launch = false

inline launch_answered(r)
{
    if
    :: st[r] == INTENDED -> doubt[r] = false; given_up[r] = false; to(r, REQUESTED)
    :: else
    fi;
    launching[r] = false; aged[r] = PLAIN; CALL_CHANGES
}

inline launch_refused(r)
{
    launching[r] = false; pending[r] = false; CALL_CHANGES;
    if
    :: st[r] == INTENDED && doubt[r] -> given_up[r] = true
    :: st[r] == INTENDED && !doubt[r] -> to(r, GONE)
    :: else
    fi
}

inline agreed(r)
{
    if
    :: st[r] == READY -> to(r, DRAINING)
    :: else
    fi;
    if
    :: st[r] == DRAINING -> accepted[r] = true; timer[r] = false; agreed_since[r] = false
    :: else
    fi;
    drain[r] = 0
}

inline refused(r)
{
    drain[r] = 0;
    if
    :: st[r] == DRAINING && was_ready[r] -> to(r, READY)
    :: st[r] == DRAINING && !was_ready[r] -> to(r, STARTING)
    :: else
    fi
}

inline back(r)
{
    if
    :: NO_HEAD || ray[r] != 0 -> to(r, READY)
    :: else -> to(r, STARTING)
    fi
}

#ifdef CAUSE_11 /* an idle end evicts what came */
#define MOVES_WORK true
#else
#define MOVES_WORK false
#endif
#define BUYS(r) (!ONE_ID || (r == 0 && !made[0] && st[1] == GONE) || (r == 1 && !made[1] && st[0] == STOPPING))
#define MAY_END(r) (!ONE_ID || r == 0)
#define IS_COMING(r) (st[r] == READY || st[r] == STARTING)
#define END_IS_DUE(r) (st[r] == STOPPING && cid[r] != 0 && !ending[r])

/* What the daemon does of itself. */
inline daemon(r)
{
    if
    /* the plan; send.c, answers.c */
    :: d_step { st[r] == GONE && !LAUNCHED(r) && row[r] == ABSENT && seen_node[r] == NO && node_view[r] == NO && BUYS(r) ->
        st[r] = INTENDED; name[r] = 0; made[r] = false; before[r] = (IS_ALIVE(O(r)) -> ID_OF(O(r)) : 0) }
    :: d_step { !PLAIN && st[r] == INTENDED && !doubt[r] && !launching[r] -> to(r, GONE) }
    :: d_step { st[r] == INTENDED && !launching[r] && !given_up[r] ->
        launching[r] = true; pending[r] = true; aged[r] = false; list_aged[r] = false; missed[r] = false; CALL_CHANGES }
    :: d_step { launching[r] && !pending[r] && vm[r] -> seen(r, vid[r], PHASE_OF(r), false); launch_answered(r) }
    :: d_step { !PLAIN && launching[r] && !pending[r] -> launch_answered(r) } /* accepted: a list tells which it is */
    :: d_step { NO_HEAD && launching[r] && !pending[r] && vm[r] && !broken[r] && !going[r] && cid[r] == 0 ->
        seen(r, 3, RUNS, false); launch_answered(r) } /* by a name that lists do not use */
    :: d_step { LOSSES && launching[r] -> /* its answer is lost; its effect may still come */
        launching[r] = false; CALL_CHANGES; doubt[r] = doubt[r] || st[r] == INTENDED }
    :: d_step { !PLAIN && launching[r] && pending[r] && !made[r] -> launch_refused(r) }
    :: d_step { st[r] == INTENDED && doubt[r] && !given_up[r] -> given_up[r] = true }
    /* it is late: observe.c */
    :: d_step { st[r] == REQUESTED && cid[r] == 0 && !given_up[r] -> given_up[r] = true }
    :: d_step { !NO_HEAD && MAY_END(r) && st[r] == STARTING && cid[r] != 0 && !fails[r] && recent && !CONTESTED(r) && !IS_MISSING(r) -> fails[r] = true }
    /* ends: ends.c, the plan's that may wait, and those that may not */
    :: d_step { IS_COMING(r) && fails[r] && !taken[r] && !IS_MISSING(r) -> end(r) }
    :: d_step { IS_COMING(r) && taken[r] -> end(r) }
    :: d_step { MAY_END(r) && IS_COMING(r) && !IS_MISSING(r) && !taken[r] && !fails[r] && !(NO_HEAD && need[r]) -> end(r) }
    :: d_step { !PLAIN && st[r] == READY && !taken[r] && !fails[r] -> must[r] = true; end(r) }
    :: d_step { !PLAIN && st[r] == DRAINING && !accepted[r] && drain[r] == 0 && !fails[r] && !taken[r] -> must[r] = false; back(r) }
    :: d_step { NO_HEAD && st[r] == STOPPING && !sent_end[r] && !fails[r] && !taken[r] && !ended[r] && was_ready[r] -> back(r) }
    /* drains: sources/drain.c */
    :: d_step { st[r] == DRAINING && ray[r] == 0 && recent && view_since[r] && !CONTESTED(r) && !LIVE(r) -> to(r, STOPPING) }
    :: d_step { st[r] == DRAINING && ray[r] != 0 && !accepted[r] && drain[r] == 0 ->
        idle[r] = !must[r] && !fails[r] && !taken[r]; drain[r] = (!idle[r] || MOVES_WORK -> ASK_MUST : ASK_IDLE) }
    :: d_step { drain[r] == SAID_YES -> agreed(r) }
    :: d_step { drain[r] == SAID_NO -> refused(r) }
    :: d_step { st[r] == DRAINING && accepted[r] && ray[r] != 0 && timer[r] && recent && STILL_DRAINS(r) -> to(r, STOPPING) }
    /* ends leave: send.c */
#ifdef CAUSE_3 /* a step looks, its log line or its commit takes a minute, and the call leaves */
    :: d_step { END_IS_DUE(r) && last_look(r) -> looked[r] = true }
    :: d_step { END_IS_DUE(r) && looked[r] -> looked[r] = false; end_leaves(r) }
#else
    :: d_step { END_IS_DUE(r) && LOOKS(r) -> end_leaves(r) }
#endif
    :: d_step { ending[r] && !end_comes[r] -> ending[r] = false; ended[r] = ended[r] || st[r] == STOPPING }
    :: d_step { LOSSES && ending[r] -> ending[r] = false }
    fi
}

inline cloud(q)
{
    if
    :: d_step { pending[q] && (made[q] || FREE(1)) -> vm_comes(q, 1) }
    :: d_step { pending[q] && !ONE_ID && !made[q] && FREE(2) && !FREE(1) -> vm_comes(q, 2) }
    :: d_step { end_comes[q] && vm[q] -> going[q] = true; end_comes[q] = false }
    :: d_step { vm[q] && going[q] -> vm_goes(q) }
    :: d_step { TAKES && vm[q] && !going[q] -> going[q] = true } /* it is taken back */
    :: d_step { TAKES && vm[q] && !broken[q] && node[q] == NO && !going[q] -> broken[q] = true } /* it never comes up */
    /* the settle time is over: what was sent has come in, or never will */
    :: d_step { st[q] != GONE && !aged[q] && !pending[q] && !launching[q] ->
        list_since_launch = list_since_launch && !UNANSWERED(q); list_began = list_began && !UNANSWERED(q); aged[q] = true }
    fi
}

#define ASKED(q) (drain[q] == ASK_IDLE || drain[q] == ASK_MUST)
#define MAY_DRAIN(q) (IS_NODE(q) && node[q] == USED && (drain[q] == ASK_MUST || !work[q]))
#define IDLE_LAW(q) LAW(1, !idle[q] || !work[q]) /* an idle end moves nothing */

inline head(q)
{
    if
    :: d_step { vm[q] && !broken[q] && node[q] == NO -> node[q] = USED; unknown[q] = UNKNOWN; shown[q] = false; inc[q] = false }
    :: d_step { REVIVES && vm[q] && node[q] == DEAD && !inc[q] -> node[q] = USED; unknown[q] = UNKNOWN; shown[q] = false; inc[q] = true }
    :: d_step { (node[q] == USED || node[q] == DRAINED) && (!PLAIN || !vm[q] || node[q] == DRAINED) -> node[q] = DEAD; work[q] = false; over[q] = false; unknown[q] = KNOWN }
    :: d_step { node[q] == DEAD && !vm[q] -> node[q] = NO; inc[q] = false; shown[q] = false }
    :: d_step { !PLAIN && node[q] == USED && !work[q] && vm[q] -> work[q] = true }
    :: d_step { work[q] -> work[q] = false }
    :: d_step { ASKED(q) && !MAY_DRAIN(q) -> drain[q] = (IS_NODE(q) && node[q] == DRAINED -> SAID_YES : SAID_NO); idle[q] = false }
    :: d_step { ASKED(q) && MAY_DRAIN(q) -> IDLE_LAW(q); node[q] = DRAINED; over[q] = false; drain[q] = SAID_YES; idle[q] = false }
    :: d_step { LOSSES && ASKED(q) && MAY_DRAIN(q) -> IDLE_LAW(q); node[q] = DRAINED; over[q] = false; drain[q] = 0; idle[q] = false }
    :: d_step { FORGETS && node[q] == DRAINED -> node[q] = USED; over[q] = false; unknown[q] = UNKNOWN }
    /* the time that its work was given is over */
    :: d_step { accepted[q] && !timer[q] && drain[q] == 0 -> timer[q] = true; over[q] = node[q] == DRAINED }
    fi
}
inline users(q)
{
    if
    :: d_step { need[q] -> need[q] = false }
    :: d_step { !need[q] && vm[q] && st[q] != GONE && st[q] <= READY && !taken[q] && !fails[q] -> need[q] = true }
    fi
}

#define TRUTH 4
inline row_made(q, what)
{
    lied[q] = what != TRUTH;
    row[q] = (what != TRUTH -> what : (vm[q] -> PHASE_OF(q) : ABSENT));
    row_id[q] = (row[q] == ABSENT -> 0 : vid[q])
}
/* A row is missing, has failed or is being ended once, and is not so. */
#define MAY_LIE(q) (LIES && vm[q] && !going[q] && !broken[q] && !lied[q])
inline list_begins(a, b)
{
    list_out = true; list_aged[0] = aged[0]; list_aged[1] = aged[1]; list_began = true; row_made(0, a); row_made(1, b)
}

inline list_read(a, b)
{
    list_begins(a, b);
    if
    :: LISTS_NOW -> list_folds()
    :: else
    fi
}

inline lists()
{
    if
    :: d_step { !list_out -> list_read(TRUTH, TRUTH) }
    :: d_step { !list_out && MAY_LIE(0) -> list_read(ABSENT, TRUTH) }
    :: d_step { !list_out && MAY_LIE(0) -> list_read(FAILS, TRUTH) }
    :: d_step { !list_out && MAY_LIE(0) -> list_read(STOPS, TRUTH) }
    :: d_step { list_out -> list_folds() }
    fi
}

inline node_shown(q, hides)
{
    unknown[q] = (unknown[q] == UNKNOWN -> TELLS : unknown[q]);
    seen_node[q] = (hides -> NO : node[q]); seen_inc[q] = (hides -> 0 : inc[q])
}

inline view_begins(hides)
{
    view_out = true; read_since[0] = true; read_since[1] = true; node_shown(0, hides); node_shown(1, false);
    if
    :: VIEWS_NOW -> view_folds()
    :: else
    fi
}

inline views()
{
    if
    :: d_step { !view_out -> view_begins(false) }
    :: d_step { HIDES && !view_out && shown[0] && (node[0] == USED || node[0] == DRAINED) -> view_begins(true) }
    :: d_step { view_out -> view_folds() }
    :: d_step { !PLAIN && view_out -> recent = false; view_ends();
        unknown[0] = (unknown[0] == TELLS -> UNKNOWN : unknown[0]);
        unknown[1] = (unknown[1] == TELLS -> UNKNOWN : unknown[1]) } /* it fails, or another head answers */
    /* ten seconds: whoever acts now could know what was so before */
    :: d_step { recent || unknown[0] != KNOWN || unknown[1] != KNOWN -> recent = false; unknown[0] = KNOWN; unknown[1] = KNOWN; view_old = view_out }
    fi
}

inline record_restarts(r)
{
    launching[r] = false; ending[r] = false; drain[r] = 0;
    view_since[r] = false; read_since[r] = false; agreed_since[r] = false; before[r] = 0; timer[r] = false;
    missed[r] = false; in_list[r] = false; aged[r] = false; said[r] = ABSENT; taken[r] = false; ended[r] = false;
    doubt[r] = st[r] == INTENDED; sent_end[r] = st[r] == STOPPING
}

inline restart()
{
    record_restarts(0); record_restarts(1);
    CALL_CHANGES; recent = false; view_old = false;
    list_out = false; row[0] = ABSENT; row[1] = ABSENT; row_id[0] = 0; row_id[1] = 0; list_aged[0] = false; list_aged[1] = false;
    view_ends();
    node_view[0] = NO; node_view[1] = NO; node_inc[0] = 0; node_inc[1] = 0
}

active proctype all()
{
    do
    :: daemon(0)
    :: cloud(0)
    :: lists()
#ifdef REST
    :: users(0)
#else
    :: head(0)
    :: views()
#endif
#ifdef TWO
    :: daemon(1)
    :: cloud(1)
#ifdef REST
    :: users(1)
#else
    :: head(1)
#endif
#endif
    :: d_step { RESTARTS -> restart() }
    od
}
