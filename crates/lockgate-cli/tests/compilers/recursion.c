// Trees, sorting and mutual recursion, by function pointers.
#include <stdio.h>
#include <stdlib.h>
typedef struct n {
    struct n *l, *r;
    int k;
} n;
static n *ins(n *t, int k) {
    if (!t) {
        t = calloc(1, sizeof *t);
        t->k = k;
        return t;
    }
    if (k < t->k) t->l = ins(t->l, k);
    else t->r = ins(t->r, k);
    return t;
}
static void walk(n *t, void (*f)(int, void *), void *u) {
    if (t) {
        walk(t->l, f, u);
        f(t->k, u);
        walk(t->r, f, u);
    }
}
static void add(int k, void *u) { *(long *)u = *(long *)u * 3 + k; }
static int cmp(const void *a, const void *b) { return *(int *)a - *(int *)b; }
static int ack(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ack(m - 1, 1) : ack(m - 1, ack(m, n - 1)); }
static int ev(int);
static int od(int n) { return n ? ev(n - 1) : 0; }
static int ev(int n) { return n ? od(n - 1) : 1; }
int main() {
    n *t = 0;
    unsigned s = 1;
    int a[500];
    for (int i = 0; i < 500; i++) {
        s = s * 1103515245 + 12345;
        a[i] = s >> 16 & 1023;
        t = ins(t, a[i]);
    }
    long u = 0;
    walk(t, add, &u);
    qsort(a, 500, 4, cmp);
    int k = a[250];
    int *f = bsearch(&k, a, 500, 4, cmp);
    printf("%ld %d %d %d %d\n", u, a[100], *f, ack(2, 9), ev(20001));
}
