/* Calls that go on when the host says so. */
#include <stdlib.h>
#include <string.h>

typedef int (*function)(int);

static void await(volatile int *go) {
    while (!*go)
        ;
}
int fill(volatile int *go, char *text, int count) {
    await(go);
    memset(text, 'x', count);
    return count;
}
/* What is left of a text when it may go on; where to tell. */
void tell_later(volatile int *go, const char *text, char *told) {
    await(go);
    strcpy(told, text);
}
int apply(volatile int *go, function f, int x) {
    await(go);
    return f(x);
}
void repeat(volatile int *go, function f) {
    await(go);
    for (;;)
        f(1);
}
void spin(void) {
    for (;;)
        __asm__ volatile("");
}
void crash(volatile int *go) {
    await(go);
    *(volatile int *)16 = 1;
}
size_t length(const char *text) { return strlen(text); }
