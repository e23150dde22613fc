/* A library that crashes and is begun anew. */
#ifndef ANEW_H
#define ANEW_H
#include <lockgate/annotations.h>
#include <stddef.h>

LG_DOMAIN("anew", memory=64M, time=5000, restart);

struct thing;
typedef int (*anew_event)(void *user, int n);
typedef int (*anew_plain)(int n) LG_ERROR(-7);

struct thing *anew_new(int value);
int anew_value(struct thing *thing) LG_ERROR(-7);
void anew_free(struct thing *thing LG_RELEASE);
void anew_on(struct thing *thing, anew_event event, void *user);
int anew_take(struct thing *thing, anew_plain plain) LG_ERROR(-7);
int anew_run(struct thing *thing, int n) LG_ERROR(-7);
int anew_each(int n, anew_event event, void *user LG_DATA) LG_ERROR(-7);
/* Passes what data was in the domain before this one. */
int anew_guess(anew_event event, void *user) LG_ERROR(-7);
int anew_crash(int how) LG_ERROR(-7);
int anew_sum(const int *numbers LG_IN LG_SIZE(n), int n) LG_ERROR(-7);
int anew_spin(void) LG_ERROR(-7);

#endif
