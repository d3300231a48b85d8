/*
 * metrics.h - the pieces of /metrics; for the metrics*.c files only.
 */
#ifndef API_METRICS_H
#define API_METRICS_H

#include "../view.h"

void metric_head(struct buf *b, const char *name, const char *kind,
                 const char *help);
/* key="value", with the value escaped */
void metric_label(struct buf *b, const char *key, const char *value);
void metric_gauge(struct buf *b, const char *name, const char *help,
                  uintmax_t v);
/* v millionths, written with a decimal point */
void metric_micros(struct buf *b, const char *name, const char *kind,
                   const char *help, int64_t v);

/* Nodes of one type. */
struct counts {
    uint32_t by[STATE_COUNT];
    uint32_t failed;
};

/* metrics_figures.c: what has labels, of the whole life */
void metrics_figures(struct buf *b, struct arena *a, struct metrics *m);
/* metrics_cost.c: dollars, of the newest page; and OpenCost's names */
void metrics_cost(struct buf *b, struct view *v);
/* metrics_waits.c: what takes long, of the newest page */
void metrics_waits(struct buf *b, struct view *v);
/* metrics_ray.c: the names of Ray's own autoscaler; c is per type */
void metrics_ray(struct buf *b, struct view *v, struct metrics *m,
                 const struct counts *c);
/* metrics_process.c: names that Prometheus' clients use */
void metrics_process(struct buf *b);

#endif
