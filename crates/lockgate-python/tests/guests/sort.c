// Callbacks with pointers and structures.
#include <stdlib.h>
void sort(int *values, size_t count, int (*order)(const void *, const void *)) { qsort(values, count, sizeof *values, order); }
struct pair { double x; int n; };
double through(struct pair (*turn)(struct pair)) { struct pair p = turn((struct pair){3.0, 4}); return p.x * 100 + p.n; }
