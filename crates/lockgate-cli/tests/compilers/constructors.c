// Constructors, destructors and initialisation arrays, in order.
#include <stdio.h>
static char log_[64];
static int n;
static void l(char c) { log_[n++] = c; }
__attribute__((constructor(300))) static void c300(void) { l('b'); }
__attribute__((constructor(200))) static void c200(void) { l('a'); }
__attribute__((constructor)) static void c0(void) { l('c'); }
static void ia(int argc, char **argv, char **env) {
    l('d');
    (void)argc;
}
__attribute__((section(".init_array"), used)) static void (*pi)(int, char **, char **) = ia;
static void pa(void) { l('p'); }
__attribute__((destructor(200))) static void d2(void) { printf("d200\n"); }
__attribute__((destructor(300))) static void d3(void) { printf("d300\n"); }
__attribute__((destructor)) static void d0(void) { printf("d0\n"); }
#include <stdlib.h>
static void ae(void) { puts("atexit"); }
int main() {
    atexit(ae);
    printf("%s\n", log_);
    return 0;
}
