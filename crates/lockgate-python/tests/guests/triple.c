#include <stdint.h>
int32_t triple(int32_t x) { return 3 * x; }
