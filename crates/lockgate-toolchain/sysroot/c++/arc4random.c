/* Where std::random_device has its numbers from. */
#define _GNU_SOURCE
#include <stdint.h>
#include <unistd.h>

uint32_t arc4random(void) {
    uint32_t number;
    if (getentropy(&number, sizeof number) < 0) __builtin_trap();
    return number;
}
