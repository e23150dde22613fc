/* What zlib answers where its manual says less than programs may rely on: a program that prints it, with the library and with its client. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define THREADS 61

static void show(const char *what, const char *bytes, int n)
{
    printf("%s:", what);
    for (int i = 0; i < n; i++)
        printf(" %02x", bytes[i] & 255);
    putchar('\n');
}

static void make(const char *name, const void *bytes, unsigned n)
{
    gzFile file = gzopen(name, "wb");
    gzwrite(file, bytes, n);
    gzclose(file);
}

/* The last item is cut off, and read as far as it goes. */
static void items(void)
{
    char to[32], *many = malloc(300000), *got = malloc(300000);
    make("ten.gz", "0123456789", 10);
    memset(to, '.', sizeof to);
    gzFile file = gzopen("ten.gz", "rb");
    printf("gzfread %d ", (int)gzfread(to, 4, 5, file));
    printf("at %ld\n", (long)gztell(file));
    show("items", to, 20);
    gzclose(file);
    for (int i = 0; i < 300000; i++)
        many[i] = (char)(rand() >> 8);
    make("cut.gz", many, 300000);
    if (truncate("cut.gz", 150000))
        exit(1);
    memset(got, 0, 300000);
    file = gzopen("cut.gz", "rb");
    int items = (int)gzfread(got, 1000, 300, file), same = 0;
    while (same < 300000 && got[same] == many[same])
        same++;
    printf("cut: %d items, %d bytes\n", items, same);
    gzclose(file);
    free(many), free(got);
}

/* A line has zeros in it, and no end of its own. */
static void lines(void)
{
    char to[32];
    make("lines.gz", "ab\0cd\nxy", 8);
    gzFile file = gzopen("lines.gz", "rb");
    for (int i = 0; i < 3; i++) {
        memset(to, '.', sizeof to);
        printf("gzgets %d ", gzgets(file, to, 20) == to);
        printf("at %ld\n", (long)gztell(file));
        show("line", to, 20);
    }
    gzclose(file);
}

static pthread_barrier_t all;
static int wrong;

static void *one(void *number)
{
    unsigned char in[1000], packed[2000], out[1000];
    memset(in, (int)(long)number, sizeof in);
    uLongf packed_size = sizeof packed, size = sizeof out;
    int bad = compress(packed, &packed_size, in, sizeof in) || uncompress(out, &size, packed, packed_size);
    if (bad || memcmp(in, out, sizeof in))
        __sync_fetch_and_add(&wrong, 1);
    pthread_barrier_wait(&all);
    return 0;
}

/* As many threads live at once as a domain has places for. */
static void threads(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&all, 0, THREADS);
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], 0, one, (void *)i))
            exit(1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);
    printf("%d threads, %d wrong\n", THREADS, wrong);
}

int main(void)
{
    items();
    lines();
    threads();
    return 0;
}
