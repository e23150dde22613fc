// A module that does what it should not.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int fine(void) { return 42; }
int use_text(const char *text) { return text[0]; }
void null_write(void) { *(volatile int *)0 = 1; }
int wild_read(void) { return *(volatile int *)0x7abcdef0; }
void wild_jump(void) { ((void (*)(void))(uintptr_t)0x40000)(); }
int divide(int a, int b) { return a / b; }
int deep(int n) { volatile char keep[4096]; keep[0] = n; return deep(n + 1) + keep[0]; }
void loop(void) { for (volatile long i = 0;; i++) {} }
void give_up(void) { abort(); }
void leave(int status) { exit(status); }
void trap(void) { __builtin_trap(); }
// Writes to whatever malloc gives, until it gives nothing.
void eat(void) { for (;;) { char *p = malloc(1 << 20); memset(p, 1, 1 << 20); } }
void no_thread(void) { pthread_t t; if (pthread_create(&t, NULL, (void *(*)(void *))loop, NULL)) abort(); }

// Lies about what it returns.
const char *wild_string(void) { return (const char *)0x7abcdef0; }
static char endless[3 << 20];
const char *unterminated(void) { memset(endless, 'x', sizeof endless); return endless; }
int *wild_pointer(void) { return (int *)0xdeadbeefdeadbeef; }
// What the host would follow if it believed it.
struct trap { void *target; int32_t size; };
void set_trap(struct trap *t) { t->target = (void *)0x10; t->size = 0x7fffffff; }

// Callbacks with arguments of its own making.
int call(int (*f)(int), int x) { return f(x); }
int call_often(int (*f)(int), int n) { int sum = 0; while (n--) sum += f(n); return sum; }
int call_with_wild(int (*f)(int *)) { return f((int *)0x7abcdef0); }
int call_with_string(int (*f)(const char *)) { return f(unterminated()); }
int call_with_huge(int (*f)(uint64_t)) { return f(UINT64_MAX); }
static int (*kept)(int);
void keep(int (*f)(int)) { kept = f; }
int call_kept(int x) { return kept(x); }
int call_forged(int x) { return ((int (*)(int))(uintptr_t)0x1fff8)(x); }

// Keeps what it was lent for a call.
static volatile int *lent;
void borrow(int *p) { lent = p; *p = 1; }
int use_borrowed(void) { return *lent; }

// Memory that it shares with the host.
void wait_for(volatile int32_t *flag) { while (!*flag) {} }
void meet(volatile int32_t *flags) { flags[0] = 1; while (!flags[1]) {} }
void scribble(volatile uint8_t *p, size_t n) { while (n--) *p++ = 0xff; }
