/* Functions for tests of `lockgate call`: each shows one kind of argument, result or end. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

double cube_root(double x) { return cbrt(x); }
float half(float x) { return x / 2; }
int divide(int a, int b) { return a / b; }
unsigned char low_byte(long x) { return x; }
int negated(_Bool x) { return !x; }
void *same(void *p) { return p; }
void nothing(void) {}
const char *skip(const char *text, unsigned n) { return text + n; }
/* Without a prototype, so that debug information does not tell one. */
int unnoted(x) int x; { return x; }

char *shout(char *text)
{
    for (char *c = text; *c; c++)
        if (*c >= 'a' && *c <= 'z')
            *c -= 'a' - 'A';
    return *text ? text : NULL;
}

unsigned long distance(const char *a, const char *b) { return strlen(a) - strlen(b); }

struct point {
    int x;
    double y;
};
struct point point(int x, double y) { return (struct point){x, y}; }

int crash(int *p)
{
    return *p = 1; /* the line that reports name */
}

int recurse(int n)
{
    volatile char frame[4096];
    frame[0] = n;
    return recurse(n + 1) + frame[0];
}

void loop(void)
{
    for (;;)
        __asm__ volatile("");
}

void nap(void)
{
    for (;;)
        sleep(1000);
}

void give_up(void) { abort(); }
void leave(int status) { exit(status); }

void say(const char *text)
{
    puts(text);
    fflush(stdout);
}

int mount_nothing(void) { return syscall(SYS_mount, 0, 0, 0, 0, 0); }
