/* brakes.pml - the brake on ends, and the one on lists: see README.md.
 *
 * autoscaler/control/ends.c and providers/lists.c.  Four machines are counted, not named.
 * What a plan wants may be wrong at any time; so may a list, for less than ten minutes.
 * Five minutes are one unit; a window is this unit and the one before. */
#include "laws.pml"
#define ALL 4
#define MOST 1             /* limits.max_ends */
#define SHORT_LEAST 1      /* so many may vanish from a list together */
#define WINDOW 2
#ifndef FAULTS
#define FAULTS 4
#endif

/* ---- what is so */
byte well = ALL;           /* machines with work */
byte went[WINDOW];         /* ended without anybody's word, in this unit and the one before */
byte stray;                /* their end was asked for, two lists lacked them, and they run on */
byte gone;                 /* so many the ledger has that are no more */
bool wrong;                /* the lists lack machines that are there */
byte wrong_for, faults, jumps;
/* ---- what the daemon knows */
byte wants;                /* a plan: so many are to end, nobody confirmed it */
byte recent[WINDOW];       /* ends.recent, and the journal has the same */
bool shut;
byte short_for;            /* a list lacks many since so many units; 0: no list does */
bool is_short;

#ifdef NO_NOTE             /* drops_off_list, of trust2's cause 6: what comes back is a stranger */
#define LET_GO false
#else
#define LET_GO true
#endif
#ifdef NO_JOURNAL
#define KEPT(n) 0
#else
#define KEPT(n) n
#endif
#ifdef NO_LIST_BRAKE
#define BELIEVED true
#else
#define BELIEVED (lacks <= SHORT_LEAST || short_for >= WINDOW)
#endif
#define lacks (gone + (wrong -> well : 0))
#define LETS (!shut && recent[0] + recent[1] < MOST)

inline passes()
{
    recent[0]++; went[0]++;
    LAW(1, went[0] + went[1] <= MOST + jumps)
}

active proctype daemon()
{
end:
    do
    :: d_step { wants > 0 && well > 0 && LETS -> wants--; well--; passes() }
    :: d_step { wants > 0 && !LETS && !shut -> shut = true }
    :: d_step { wants == 0 && (stray == 0 || LET_GO) && shut -> shut = false }
    :: d_step { wants > 0 && well == 0 -> wants = 0 }
    :: d_step { stray > 0 && LET_GO -> stray-- }
    :: d_step { stray > 0 && !LET_GO && LETS -> stray--; passes() }
    :: d_step { stray > 0 && !LET_GO && !LETS && !shut -> shut = true }
    od
}

/* One list after another: a machine that two lack is forgotten, and one more is missed
 * by a flicker than by a brake: life.pml. */
active proctype lists()
{
end:
    do
    :: d_step { lacks > SHORT_LEAST && !BELIEVED && !is_short -> is_short = true; short_for = 0 }
    :: d_step { lacks <= SHORT_LEAST && is_short -> is_short = false; short_for = 0 }
    :: d_step { lacks > 0 && BELIEVED && (wrong -> lacks > SHORT_LEAST : true) ->
        LAW(3, !wrong);
        gone = 0; is_short = false; short_for = 0 }
    od
}

active proctype world()
{
end:
    do
    :: d_step { went[0] + went[1] + recent[0] + recent[1] > 0 || is_short || wrong ->
        went[1] = went[0]; went[0] = 0; recent[1] = recent[0]; recent[0] = 0;
        jumps = (went[0] + went[1] == 0 -> 0 : jumps);
        short_for = (is_short && short_for < WINDOW -> short_for + 1 : short_for);
        wrong_for++; /* for less than ten minutes */
        wrong = wrong && wrong_for < WINDOW; wrong_for = (wrong -> wrong_for : 0) }
    :: d_step { faults < FAULTS && wants < ALL -> faults++; wants++ }
    :: d_step { wants > 0 -> wants-- }
    :: d_step { faults < FAULTS && well > 1 -> faults++; well = well - 2; stray = stray + 2 }
    :: d_step { faults < FAULTS && well > 0 -> faults++; well--; gone++ }
    :: d_step { faults < FAULTS && !wrong && well > SHORT_LEAST -> faults++; wrong = true; wrong_for = 0; is_short = false; short_for = 0 }
    :: d_step { wrong -> wrong = false; wrong_for = 0 }
    /* it begins anew, and its computer's clock is as it was, or back: what was then is no thing to come */
    :: d_step { faults < FAULTS -> faults++; recent[0] = KEPT(recent[0]); recent[1] = KEPT(recent[1]); shut = false }
    :: d_step { faults < FAULTS -> faults++; recent[0] = KEPT(recent[0] + recent[1]); recent[1] = 0; shut = false }
    /* or was set forward: that window is over too early, which the journal cannot know */
    :: d_step { faults < FAULTS -> faults++; jumps++; recent[0] = 0; recent[1] = 0; shut = false }
    od
}

/* What is to go and nobody needs goes, without a person's word. */
ltl law_6 { [] (stray > 0 -> <> (stray == 0)) }
/* Machines that are gone are not on the books for ever. */
ltl law_7 { [] ((gone > 0) -> <> (gone == 0 || wrong)) }
