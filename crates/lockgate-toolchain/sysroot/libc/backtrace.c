/* execinfo.h. Return addresses lie where no code of a module can read them: a system call of ours tells of them. */
#include <stdlib.h>
#include <unistd.h>

#include "call.h"

#define LG_FUNCTIONS 400
/* "[0x", 16 digits, "]", and the end. */
#define TEXT 21

struct row {
    void *address;
    void *frame;
};

int backtrace(void **addresses, int size) {
    struct row rows[64];
    int filled = 0;
    while (filled < size) {
        long room = size - filled < 64 ? size - filled : 64;
        /* Without this function itself. */
        long got = lg_ask3(LG_FUNCTIONS, (long)rows, room, filled + 1);
        for (long n = 0; n < got; n++) addresses[filled++] = rows[n].address;
        if (got < room) break;
    }
    return filled;
}

/* Returns one past the last character. */
static char *text(char *to, void *address) {
    unsigned long value = (unsigned long)address;
    int shift = 60;
    while (shift > 0 && value >> shift == 0) shift -= 4;
    *to++ = '[', *to++ = '0', *to++ = 'x';
    for (; shift >= 0; shift -= 4) *to++ = "0123456789abcdef"[value >> shift & 15];
    *to++ = ']';
    return to;
}

char **backtrace_symbols(void *const *addresses, int size) {
    if (size < 0) size = 0;
    char **symbols = malloc((size_t)size * (sizeof *symbols + TEXT) + 1);
    if (!symbols) return 0;
    char *to = (char *)(symbols + size);
    for (int n = 0; n < size; n++, to += TEXT) {
        symbols[n] = to;
        *text(to, addresses[n]) = 0;
    }
    return symbols;
}

void backtrace_symbols_fd(void *const *addresses, int size, int descriptor) {
    for (int n = 0; n < size; n++) {
        char line[TEXT], *end = text(line, addresses[n]);
        *end++ = '\n';
        if (write(descriptor, line, end - line) < 0) return;
    }
}
