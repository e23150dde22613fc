/* Jumps through a jmp_buf that the program has changed. */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

static jmp_buf buffer;
static long data[8];

/* Words of our jmp_buf: rsp after the return, landing. */
enum { RSP = 6, LANDING = 7 };

static void change(const char *attack) {
    unsigned long *words = (unsigned long *)buffer;
    if (!strcmp(attack, "landing-data")) words[LANDING] = (unsigned long)data;
    if (!strcmp(attack, "landing-code")) words[LANDING] += 1;
    if (!strcmp(attack, "landing-null")) words[LANDING] = 0;
    if (!strcmp(attack, "landing-host")) words[LANDING] = 0x555555554000;
    if (!strcmp(attack, "rsp-null")) words[RSP] = 0;
    if (!strcmp(attack, "rsp-top")) words[RSP] = ~0ul;
    if (!strcmp(attack, "rsp-odd")) words[RSP] += 3;
}

int main(int argc, char **argv) {
    if (argc < 2) return 1;
    if (setjmp(buffer)) return 7;
    change(argv[1]);
    longjmp(buffer, 1);
}
