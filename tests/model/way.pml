/* way.pml - how long a machine on its way is waited for: see README.md.
 *
 * observe.c (coming_late, way_until, blind_count) and machines.c (stepped_on).  A unit is
 * limits.start_timeout; each step has one, all of the way START_TIMES. */
#define START_TIMES 4
#ifndef BLIND
#define BLIND 2 /* so often its provider or the head cannot be read */
#endif

bool coming = true, has_zone, has_address, has_run, sees = true;
byte still, way, blind; /* since its last step, since its launch, units */
bool text, address;

#ifdef CAUSE_5 /* any other text, any other address is progress, and there is no bound over all */
#define ANOTHER still = 0
#define OVER false
#else
#define ANOTHER skip
#define OVER (way >= START_TIMES)
#endif

active proctype cloud()
{
end:
    do
    :: d_step { coming && !has_zone -> has_zone = true; still = 0 }
    :: d_step { coming && !has_address -> has_address = true; still = 0 }
    :: d_step { coming && !has_run -> has_run = true; still = 0 }
    /* a detail that counts seconds; addresses in any order; CrashLoopBackOff and back */
    :: d_step { coming -> text = !text; ANOTHER }
    :: d_step { coming && has_address -> address = !address; ANOTHER }
    :: d_step { coming && has_run -> coming = false } /* it joins */
    :: d_step { coming && sees && blind < BLIND -> blind++; sees = false }
    od
}

active proctype daemon()
{
end:
    do
    :: d_step { !sees -> sees = true; still = 0 } /* what nobody could see is not counted */
    :: d_step { coming && sees && still < 1 && !OVER -> still++; way = (way < START_TIMES -> way + 1 : way) }
    :: d_step { coming && sees && (still >= 1 || OVER) -> coming = false } /* it has failed */
    od
}

/* It joins, or it has failed: nothing is waited for for ever. */
ltl law_7 { <> !coming }
