// A module that shows the host text and memory of its own, with EARLY from a constructor, too, with OWN from a thread of its own.
// flags: --gate 'int note(int, const char *, int *)'
#include <pthread.h>
#include <string.h>

int note(int number, const char *text, int *place);

static int place = 42;
static int answer;
int tell(int number) { return note(number, "told", &place); }
int wild(int number) { return note(number, (const char *)1, (int *)8); }
int get(void) { return place; }
int answered(void) { return answer; }
int same(const int *given) { return given == &place; }
static void *own(void *unused) { answer = note(-2, "own", &place); return unused; }
int start(void) { pthread_t thread; if (pthread_create(&thread, 0, own, 0)) return -1; return pthread_join(thread, 0); }
#ifdef EARLY
__attribute__((constructor)) static void early(void) { answer = note(-1, "early", &place); }
#endif
