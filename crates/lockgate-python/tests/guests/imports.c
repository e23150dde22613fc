// A module that calls the host by name.
// flags: --gate 'long host_add(long, long)'
// flags: --gate 'double host_scale(const double *, unsigned long)'
#include <stdint.h>

int64_t host_add(int64_t a, int64_t b);
double host_scale(const double *values, uint64_t count);

int64_t add_three(int64_t a, int64_t b, int64_t c) { return host_add(host_add(a, b), c); }
double scale(void) { double values[3] = {1, 2, 4}; return host_scale(values, 3); }
// For a link: what calls the host in turn.
int64_t sum_here(int64_t a, int64_t b) { return host_add(a, b); }
