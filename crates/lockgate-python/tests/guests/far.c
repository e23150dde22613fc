// What another process serves.
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct pair { double x; long n; };

int same(int x) { return x; }
double half(double x) { return x / 2; }
bool flip(bool x) { return !x; }
struct pair pair(struct pair p) { return (struct pair){(double)p.n, (long)p.x}; }
static int counter;
int count(void) { return ++counter; }
int64_t sum(const int64_t *values, size_t n) { int64_t s = 0; while (n--) s += *values++; return s; }
void twice(double *values, size_t n) { for (size_t i = 0; i < n; i++) values[i] *= 2; }
void leave(int status) { exit(status); }
int crash(int at) { return *(volatile int *)(long)at; }
void spin(void) { for (volatile int i = 0;; i++); }
