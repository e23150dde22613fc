/* A program in one file: `main`, what it calls in a domain, and what both have. */
#include <lockgate/annotations.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

struct total {
    int numbers;
    long sum;
};

LG_DOMAIN("parser", time=1000) LG_ENTRY int parse(const char *text LG_IN LG_STRING, struct total *into LG_OUT) LG_ERROR(-2);

/* Constants and static functions are on both sides. */
const int weights[] = {1, 10, 100};
static const char *const words[] = {"no", "one", "many"};
static int space(int c)
{
    return isspace(c) != 0;
}
/* Said twice, the second time with a value. */
static const struct steps {
    int (*space)(int);
} steps;
static const struct steps steps = {space};

/* The host's. */
static int parsed;
static int parsed = 0;
static int *const also = (int[]){0};
int begun;
int begun = 0;
/* The domain's, though nothing says so: only it uses it. */
static int called;

static const char *word(int number)
{
    return words[number < 2 ? number : 2];
}

int parse(const char *text, struct total *into)
{
    *into = (struct total){0, called++};
    while (*text) {
        char *end;
        long number = strtol(text, &end, 10);
        if (end != text)
            into->sum += number * weights[into->numbers++ % 3];
        else
            end++;
        for (text = end; steps.space(*text); text++)
            ;
    }
    return into->numbers;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct total total;
        int status = parse(argv[i], &total);
        parsed += status > 0;
        *also += ++begun;
        printf("%d (%s): %ld, %d\n", status, word(status), total.sum, steps.space(argv[i][0]));
    }
    printf("%d, %d\n", parsed, weights[2]);
    return 0;
}
