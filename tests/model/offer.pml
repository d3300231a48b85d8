/* offer.pml - machines that are of no use, one after the other: see README.md.
 *
 * cloud/backoff.c (backoffs_note_life, backoffs_lived, backoffs_forget), ledger.c
 * (machine_short_life, machine_proved).  A unit is ten seconds. */
#include "laws.pml"
#define LIFE_MOST 1440     /* 4 h */
#define PROVES 30          /* 5 min */
#define MINUTES_10 60

byte lives, bought, span = MINUTES_10; /* the row; those of it within ten minutes of its first */
short waits;
bool there;
byte age;

inline of_no_use()
{
    waits = (lives == 0 -> 1 : (lives == 1 -> 4 : (lives == 2 -> 16 : (lives == 3 -> 64 : (lives == 4 -> 256 : (lives == 5 -> 1024 : LIFE_MOST))))));
    lives = (lives < 6 -> lives + 1 : lives);
    there = false; age = 0
}

active proctype all()
{
    do
    :: d_step { !there && waits == 0 ->
        there = true; age = 0;
        span = (bought == 0 -> 0 : span); bought++;
        LAW(8, bought < 6 || span >= MINUTES_10) }
    :: d_step { there || waits > 0 ->
        waits = (waits > 0 -> waits - 1 : 0);
        age = (there && age < PROVES -> age + 1 : age);
        span = (span < MINUTES_10 -> span + 1 : span);
        bought = (span >= MINUTES_10 -> 0 : bought) }
    :: d_step { there && age < PROVES -> of_no_use() }         /* it never came up */
#ifdef CAUSE_12 /* a raylet that dies after it joined says nothing of its offer */
    :: d_step { there && age < PROVES -> there = false; age = 0 }
#else
    :: d_step { there && age > 0 && age < PROVES -> of_no_use() }
#endif
    :: d_step { there && age >= PROVES -> lives = 0; bought = 0; span = MINUTES_10; there = false; age = 0 } /* it was of use, and goes */
#ifdef SAME_FILE /* touch_file, of trust2's cause 12 */
    :: d_step { waits > 0 -> waits = 0; lives = 0 }
#else
    :: d_step { waits > 0 -> skip } /* the same file is saved */
#endif
    od
}
