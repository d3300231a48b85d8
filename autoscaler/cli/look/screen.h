/*
 * screen.h - a view that is painted again and again in the same place.
 *
 * What is printed between screen_begin() and screen_paint() is gathered, cut to
 * the terminal's width and height, and takes the place of what was there: lines
 * never wrap, so nothing scrolls away, whatever the size is by then.  The view
 * has a screen of its own; what was there before comes back at the end.  Only on
 * a terminal.  Thread: main.
 */
#ifndef CLI_LOOK_SCREEN_H
#define CLI_LOOK_SCREEN_H

#include <stdbool.h>

void screen_open(void);
void screen_close(void); /* leaves the last view on the screen before */
void screen_begin(void);
void screen_paint(void);
/* Waits; a key that was pressed, 0: time is over or the size changed, -1:
 * interrupted (^C, q, the end of input). */
int screen_wait(int ms);

#endif
