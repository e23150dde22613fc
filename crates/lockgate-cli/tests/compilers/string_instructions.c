// String instructions, repeated and not.
#include <stdio.h>
#include <string.h>
#define N __attribute__((noinline))
N void movs(void *d, const void *s, long n) {
    __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n)::"memory");
}
N void movsd_(void *d, const void *s, long n) {
    __asm__ volatile("rep movsw" : "+D"(d), "+S"(s), "+c"(n)::"memory");
}
N void stos(void *d, int v, long n) { __asm__ volatile("rep stosl" : "+D"(d), "+c"(n) : "a"(v) : "memory"); }
N long scas(const char *s, char c) {
    long n = -1;
    __asm__ volatile("repne scasb" : "+D"(s), "+c"(n) : "a"(c) : "cc", "memory");
    return ~n - 1;
}
N int cmps(const char *a, const char *b, long n) {
    unsigned char z;
    __asm__ volatile("cmp %%al,%%al; repe cmpsb; setz %0"
                     : "=q"(z), "+S"(a), "+D"(b), "+c"(n)::"cc", "memory");
    return z * 100 + (int)n;
}
N int lods(const char *p, int n) {
    int s = 0;
    while (n--) {
        char c;
        __asm__ volatile("lodsb" : "=a"(c), "+S"(p)::"memory");
        s = s * 7 + c;
    }
    return s;
}
N void movsq(void *d, const void *s, long n) {
    __asm__ volatile("rep movsq" : "+D"(d), "+S"(s), "+c"(n)::"memory");
}
N void one(char *d, const char *s) {
    __asm__ volatile("movsb; movsw; movsl; movsq" : "+D"(d), "+S"(s)::"memory");
}
N long scasd(const int *p, int v, long n) {
    long k = n;
    __asm__ volatile("test %%eax,%%eax; repne scasl" : "+D"(p), "+c"(k) : "a"(v) : "cc", "memory");
    return n - k;
}
int main() {
    char b[64] = "abcdefghijklmnopqrstuvwxyz0123456789";
    movs(b + 1, b, 20);
    puts(b);
    char c[64] = "abcdefghijklmnopqrstuvwxyz0123456789";
    movsd_(c + 3, c + 0, 7);
    puts(c);
    stos(b, 0x41424344, 5);
    puts(b);
    printf("%ld %d %d %d\n", scas("hello world", 'w'), cmps("abcdef", "abcxef", 6), cmps("abc", "abc", 3),
           lods("xyz!", 4));
    char e[64] = "0123456789abcdef0123456789abcdef";
    movsq(e + 4, e, 2);
    puts(e);
    char o[32] = "................";
    one(o, "ABCDEFGHIJKLMNOPQ");
    puts(o);
    int q[] = {1, 2, 3, 4, 5, 6, 7};
    printf("%ld %ld %d\n", scasd(q, 4, 7), scasd(q, 99, 7), cmps("", "", 0));
    memmove(c + 3, c, 30);
    puts(c);
    printf("%zu %s %d\n", strlen(c), strstr(c, "fgh"), memcmp(c, b, 5) > 0);
}
