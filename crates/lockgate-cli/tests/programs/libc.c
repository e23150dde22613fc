/* A walk through the C library: what is printed must be what the native program prints. */
#include <ctype.h>
#include <errno.h>
#include <fenv.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

static _Thread_local int thread_local_counter = 41;
static _Thread_local char thread_local_zeros[100];

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static int sum(int n, ...) {
    va_list list;
    va_start(list, n);
    int total = 0;
    for (int i = 0; i < n; i++) total += i % 2 ? (int)va_arg(list, double) : va_arg(list, int);
    va_end(list);
    return total;
}

static const char *day(int i) {
    switch (i) {
        case 0: return "mon";
        case 1: return "tue";
        case 2: return "wed";
        case 3: return "thu";
        case 4: return "fri";
        case 5: return "sat";
        case 6: return "sun";
        default: return "?";
    }
}

static int computed_goto(int n) {
    static const void *const labels[] = {&&add, &&twice, &&end};
    int value = 1;
    const int program[] = {0, 1, 1, 0, 2};
    goto *labels[program[n = 0]];
add:
    value += 3;
    goto *labels[program[++n]];
twice:
    value *= 2;
    goto *labels[program[++n]];
end:
    return value;
}

struct big { long a[5]; };
static struct big make(long x) { return (struct big){{x, x * 2, x * 3, x * 4, x * 5}}; }
static long take(struct big b, int i) { return b.a[i]; }

static void at_exit(void) { puts("at exit"); }
__attribute__((constructor)) static void constructor(void) { thread_local_counter++; }

static int variable_length(int n) {
    int array[n];
    for (int i = 0; i < n; i++) array[i] = i * i;
    int total = 0;
    for (int i = 0; i < n; i++) total += array[i];
    return total;
}

int main(int argc, char **argv) {
    atexit(at_exit);
    printf("%d %s\n", argc, argc > 1 ? argv[1] : "");
    printf("%d %d\n", thread_local_counter, thread_local_zeros[50]);
    printf("%.17g %a %Lf %e\n", 0.1, 1.0 / 3, 3.14159265358979323846L, 12345.678);
    printf("%.10f %.10f %.10f %.10f\n", sin(1), exp(1), pow(2, 0.5), cbrt(27));
    printf("%.15Lg %.15Lg\n", sinl(1), expl(1));
    printf("%d %s %5d|%-5d|%05d %x %" PRId64 "\n", 1, "two", 3, 4, 5, 0xabc, INT64_MIN);
    printf("%d\n", sum(6, 1, 2.0, 3, 4.0, 5, 6.0));
    for (int i = -1; i < 8; i++) fputs(day(i), stdout);
    printf("\n%d\n", computed_goto(0));
    printf("%ld %ld\n", take(make(3), 4), take(make(7), 0));
    printf("%d\n", variable_length(1000));

    int numbers[1000];
    unsigned state = 1;
    for (int i = 0; i < 1000; i++) numbers[i] = (int)((state = state * 1103515245 + 12345) >> 8);
    qsort(numbers, 1000, sizeof *numbers, compare);
    for (int i = 1; i < 1000; i++)
        if (numbers[i - 1] > numbers[i]) puts("not sorted");
    printf("%d %d\n", numbers[0], *(int *)bsearch(&numbers[500], numbers, 1000, sizeof *numbers, compare) == numbers[500]);

    char *blocks[200];
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 200; i++) memset(blocks[i] = malloc(1 + i * 37 * (round + 1)), i, 1 + i * 37 * (round + 1));
        for (int i = 0; i < 200; i++) free(blocks[(i * 7) % 200]);
    }
    char *large = malloc(10 << 20);
    memset(large, 1, 10 << 20);
    large = realloc(large, 20 << 20);
    printf("%d\n", large[(10 << 20) - 1]);
    free(large);

    char text[100] = "the quick brown fox";
    memmove(text + 4, text, 19);
    printf("%s\n", text);
    memmove(text, text + 4, 20);
    printf("%s %zu %s %d\n", text, strlen(text), strstr(text, "brown"), strcmp("a", "b"));
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) printf("[%s]", word);
    printf("\n%.17g %ld %d\n", strtod("1e-5x", NULL), strtol("-0x1f", NULL, 16), atoi("42"));

    errno = 0;
    printf("%d %s\n", close(-1), strerror(errno));
    setlocale(LC_ALL, "C.UTF-8");
    wchar_t wide[20];
    printf("%zu %d\n", mbstowcs(wide, "h\xc3\xa9llo", 20), iswalpha(wide[1]));

    regex_t regex;
    regmatch_t match[2];
    regcomp(&regex, "b([a-z]+)", REG_EXTENDED);
    printf("%d", regexec(&regex, "a brown", 2, match, 0));
    printf(" %d %d\n", (int)match[1].rm_so, (int)match[1].rm_eo);
    regfree(&regex);

    fesetround(FE_UPWARD);
    volatile double one = 1, three = 3;
    printf("%.20f", one / three);
    fesetround(FE_TONEAREST);
    printf(" %.20f %d\n", one / three, fetestexcept(FE_INEXACT) != 0);

    struct tm tm = {.tm_year = 126, .tm_mon = 10, .tm_mday = 21, .tm_hour = 12};
    time_t when = timegm(&tm);
    char date[64];
    strftime(date, sizeof date, "%Y-%m-%d %A %j", gmtime(&when));
    printf("%s %lld\n", date, (long long)when);
    printf("%d\n", time(NULL) > 1700000000);

    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_key_t key;
    pthread_mutex_lock(&mutex);
    pthread_key_create(&key, NULL);
    pthread_setspecific(key, "specific");
    pthread_mutex_unlock(&mutex);
    printf("%s\n", (char *)pthread_getspecific(key));
    fprintf(stderr, "to stderr\n");
    return 7;
}
