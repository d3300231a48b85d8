/*
 * settle.c - see settle.h.
 */
#include "settle.h"

/* A call whose answer was lost has had its effect by then, or never will. */
enum { END_COMES_MS = 600000 };
/* The same for launches: a request whose connection broke is done by then. */
enum { LAUNCH_COMES_MS = 60000 };

enum standing standing_of(const struct machine *m)
{
    switch (m->state) {
    case STATE_INTENDED:
        return m->busy || m->maybe.doubt ? STANDING_ASKED : STANDING_PLANNED;
    case STATE_REQUESTED: return STANDING_ACCEPTED;
    case STATE_STARTING:
    case STATE_READY:
    case STATE_DRAINING:
        return m->maybe.taken ? STANDING_ENDED : STANDING_THERE;
    case STATE_STOPPING:
        return m->maybe.ended_ms ? STANDING_ENDED : STANDING_ENDING;
    case STATE_GONE:
    case STATE_COUNT: break;
    }
    return STANDING_GONE;
}

bool standing_lost_sight(const struct machine *m)
{
    enum standing s = standing_of(m);

    return m->maybe.given_up && (s == STANDING_ASKED || s == STANDING_ACCEPTED);
}

bool settle_end_void(const struct machine *m, int64_t now_ms)
{
    return m->state == STATE_STOPPING && m->ready_ms && !m->busy &&
           !m->maybe.ended_ms && !m->maybe.taken &&
           m->why != REASON_END_FAILED &&
           (!m->maybe.end_doubt_ms ||
            now_ms - m->maybe.end_doubt_ms >= END_COMES_MS);
}

static int64_t sent_last(const struct machine *m)
{
    return m->maybe.sent_ms > m->created_ms ? m->maybe.sent_ms : m->created_ms;
}

int64_t settle_comes_ms(const struct machine *m, int64_t started_ms)
{
    int64_t since = m->maybe.sent_ms;

    if (standing_of(m) != STANDING_ASKED)
        return 0;
    return (since > started_ms ? since : started_ms) + LAUNCH_COMES_MS;
}

/* Could the list have it already?  One that was never listed may be newer than
 * what the list knows. */
static bool list_could_know(const struct machine *m, int64_t list_begun_ms,
                            int64_t settle_ms)
{
    int64_t since = sent_last(m);

    if (m->seen_ms)
        return list_begun_ms > m->seen_ms;
    if (standing_of(m) == STANDING_ASKED)
        since += LAUNCH_COMES_MS; /* its answer was lost */
    return list_begun_ms >= since + settle_ms;
}

static bool missed_twice(struct machine *m, int64_t list_begun_ms,
                         int64_t settle_ms)
{
    if (!m->maybe.missing_ms) {
        m->maybe.missing_ms = list_begun_ms;
        return false;
    }
    return list_begun_ms > m->maybe.missing_ms &&
           list_begun_ms - m->maybe.missing_ms >= settle_ms;
}

bool settle_absent(struct machine *m, int64_t list_begun_ms, int64_t settle_ms)
{
    if (!m->seen_ms && list_begun_ms >= sent_last(m) + settle_ms)
        m->maybe.unlisted = true;
    if (!list_could_know(m, list_begun_ms, settle_ms))
        return false;
    switch (standing_of(m)) {
    case STANDING_ASKED:
    case STANDING_ACCEPTED:
        return m->maybe.given_up && !m->busy &&
               missed_twice(m, list_begun_ms, settle_ms);
    case STANDING_ENDED:
        return missed_twice(m, list_begun_ms,
                            list_begun_ms >= m->maybe.ended_ms ? 0 : settle_ms);
    case STANDING_THERE:
    case STANDING_ENDING: return missed_twice(m, list_begun_ms, settle_ms);
    case STANDING_PLANNED:
    case STANDING_GONE: break;
    }
    return false;
}
