/* last_look.pml - what must be so before the call that ends a machine leaves: the
 * rules of autoscaler/control/last_look.c, and what they ask of nodes.c, in their
 * order and under their names.  tests/model/guards.py reads both sides; WORDS there
 * says which word here stands for which of theirs.  O(m): the other record. */
#define O(m) (1 - (m))

#define id_is_its_own(m) (!(st[O(m)] != GONE && cid[O(m)] == cid[m]))
#define is_still_that(m) (!LAUNCH_UNDER_WAY && list_since_launch && !MAY_COME && in_list[m])
#define work_is_known(m) (sources_know_work)
#define no_work_came(m) (NO_HEAD || taken[m] || (sources_seen_since(m) && source_drains_still(m)))

#define sources_know_work (NO_HEAD || recent)
#define sources_seen_since(m) (NO_HEAD || view_since[m])
#define source_drains_still(m) (!CONTESTED(m) && (!LIVE(m) || (DRAINED_NOW(m) && SAME_NODE(m))))

#define last_look(m) (id_is_its_own(m) && is_still_that(m) && work_is_known(m) && no_work_came(m))

/* -DWITHOUT=n: one rule less, by which the models show what it is for. */
#ifndef WITHOUT
#define WITHOUT 0
#endif
#define looks(m) ((WITHOUT == 1 || id_is_its_own(m)) && (WITHOUT == 2 || is_still_that(m)) && \
                  (WITHOUT == 3 || work_is_known(m)) && (WITHOUT == 4 || no_work_came(m)))
