/* A small library with a bug that somebody else has not fixed yet. */
#include <stddef.h>
#include <string.h>

/* The sum of the numbers in "name=number;name=number". */
long sum_settings(const char *text)
{
    long sum = 0;
    while (text && *text) {
        const char *value = strchr(text, '='); /* null without a `=` */
        long number = 0;
        while (*++value >= '0' && *value <= '9')
            number = 10 * number + *value - '0';
        sum += number;
        text = strchr(value, ';');
        text = text ? text + 1 : NULL;
    }
    return sum;
}

/* The mean of each value and its neighbours, in place. */
void smooth(double *values, size_t count)
{
    double before = count ? values[0] : 0;
    for (size_t i = 1; i + 1 < count; i++) {
        double here = values[i];
        values[i] = (before + here + values[i + 1]) / 3;
        before = here;
    }
}

/* Collatz: whether it ends for every number, nobody knows. For 0 it does not. */
long steps(unsigned long number)
{
    long count = 0;
    while (number != 1) {
        number = number % 2 ? 3 * number + 1 : number / 2;
        count++;
    }
    return count;
}
