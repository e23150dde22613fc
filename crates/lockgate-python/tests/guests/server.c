// What another domain calls as host_add.
#include <stdint.h>
int64_t host_add(int64_t a, int64_t b) { return a * 100 + b; }
int64_t broken(int64_t a, int64_t b) { return *(volatile int64_t *)0 + a + b; }
