// Constants that point to each other, merged strings.
#include <ctype.h>
#include <stdio.h>
#include <string.h>
static const char *const w[] = {"alpha", "beta", "gamma", "delta"};
static char buf[256];
struct kv {
    const char *k;
    union {
        int i;
        const char *s;
        double d;
    } v;
    int t;
};
static const struct kv kv[] = {{"x", {.i = 5}, 0}, {"y", {.s = "str"}, 1}, {"z", {.d = 2.5}, 2}};
static const int *const pi[] = {&(const int){3}, &(const int){4}};
static char (*const pa)[256] = &buf;
static const char *const *const pp = w + 1;
extern char tail[];
char tail[] = "tail";
static const long off = (long)sizeof buf - 7;
static int *end = (int *)(buf + 200);
int main() {
    strcpy(buf, pp[1]);
    for (unsigned i = 0; i < 4; i++) {
        strcat(buf, w[i]);
        strcat(buf, ",");
    }
    for (char *p = buf; *p; p++)
        if (isalpha(*p)) *p = toupper(*p);
    *end = 7;
    printf("%s %d %s %g %d %s %d %ld %d\n", buf, kv[0].v.i, kv[1].v.s, kv[2].v.d, *pi[0] + *pi[1], tail,
           (*pa)[200], off, (int)strcspn(buf, ","));
    char *save;
    char t[] = "a,b;c";
    for (char *q = strtok_r(t, ",;", &save); q; q = strtok_r(0, ",;", &save)) printf("[%s]", q);
    puts("");
}
