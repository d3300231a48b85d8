/*
 * screen.c - see screen.h.
 */
#include "screen.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "../terminal.h"

static struct {
    FILE *terminal; /* standard output while it is gathered */
    char *text;     /* what was gathered last */
    size_t n;
    bool keys; /* the terminal's keys come one by one */
    struct termios before;
} screen;

static volatile sig_atomic_t stop, resized;

static void stopped(int sig)
{
    (void)sig;
    stop = 1;
}

static void size_changed(int sig)
{
    (void)sig;
    resized = 1;
}

void screen_open(void)
{
    struct termios t;

    signal(SIGINT, stopped);
    signal(SIGTERM, stopped);
    signal(SIGWINCH, size_changed);
    if (isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &t) == 0) {
        screen.before = t;
        t.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        t.c_cc[VMIN] = 1;
        t.c_cc[VTIME] = 0;
        screen.keys = tcsetattr(STDIN_FILENO, TCSANOW, &t) == 0;
    }
    terminal_screen(true);
}

void screen_close(void)
{
    terminal_screen(false);
    if (screen.keys)
        tcsetattr(STDIN_FILENO, TCSANOW, &screen.before);
    if (screen.text)
        fwrite(screen.text, 1, screen.n, stdout);
    fflush(stdout);
    free(screen.text);
    screen.text = NULL;
}

void screen_begin(void)
{
    free(screen.text);
    screen.text = NULL;
    screen.terminal = stdout;
    stdout = open_memstream(&screen.text, &screen.n);
    if (!stdout)
        abort();
}

void screen_paint(void)
{
    fclose(stdout);
    stdout = screen.terminal;
    terminal_paint(screen.text);
}

int screen_wait(int ms)
{
    struct pollfd keys = {.fd = STDIN_FILENO, .events = POLLIN};
    char c;

    resized = 0;
    if (stop)
        return -1;
    if (poll(&keys, screen.keys ? 1 : 0, ms) <= 0)
        return stop ? -1 : 0;
    if (read(STDIN_FILENO, &c, 1) != 1 || c == 'q' || c == 4)
        return -1;
    return c;
}
