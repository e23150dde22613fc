/* A library that uses what the program gave it longer than that was given: after the call, after the handle, on another thread. */
#ifndef LIVES_H
#define LIVES_H
#include <lockgate/annotations.h>
#include <stddef.h>
#include <stdio.h>

LG_DOMAIN("lives", memory=64M, time=5000);
LG_ERRORS(int, -1);

/* What the library does from now on: 0 as it should, else the attack of that number. */
void lives_mode(int mode);

struct life;
typedef int (*lives_event)(void *user, int n);
struct lives_ops { lives_event event; void *user; };
LG_FIELD(struct lives_ops, user, LG_DATA);

struct life *lives_new(void);
struct life *lives_with(lives_event event, void *user);
int lives_into(struct life **life LG_OUT, lives_event event, void *user);
/* The last, which is the program's already. */
int lives_last(struct life **life LG_OUT) LG_ERROR(-7) LG_BORROWED;
struct life *lives_ops(const struct lives_ops *ops LG_IN);
struct life *lives_log(FILE *file LG_KEPT);
struct life *lives_part(struct life *life);
void lives_free(struct life *life LG_RELEASE);
struct other;
struct other *lives_other(struct life *life);
/* Both of two threads at once are in it. */
int lives_same(struct life **life LG_OUT, char *room LG_INOUT LG_SIZE(n), int n) LG_ERROR(-7);
void lives_on(struct life *life, lives_event event, void *user);
void lives_user(struct life *life, void *user LG_DATA LG_SHOWN(life));
int lives_run(struct life *life, int n) LG_ERROR(-7);
int lives_write(struct life *life, const char *text) LG_ERROR(-7);
int lives_value(struct life *life) LG_ERROR(-7);

/* With a handle, or one that is made, and for the call only. */
int lives_for(struct life *life, int n, lives_event event, void *user LG_FOR_CALL) LG_ERROR(-7);
struct life *lives_started(lives_event event, void *user LG_DATA LG_FOR_CALL);

/* Without a handle. */
int lives_each(int n, lives_event event, void *user LG_DATA) LG_ERROR(-7);
int lives_later(void) LG_ERROR(-7);
int lives_later_said(const char *text) LG_ERROR(-7);
int lives_with_file(FILE *file, lives_event event, void *user LG_DATA) LG_ERROR(-7);
int lives_write_later(const char *text) LG_ERROR(-7);
void lives_always(lives_event event, void *user LG_DATA LG_KEPT);

/* Has the stream until another thread has tried to steal it. */
int lives_load(struct life *life, FILE *file LG_FOR_CALL) LG_ERROR(-7);
int lives_steal(struct life *life) LG_ERROR(-7);
int lives_tried(void) LG_ERROR(-7);

char *lives_buffer(struct life *life, int n) LG_LENT LG_SIZE(n);
void lives_drop(void *memory LG_INSIDE LG_RELEASE);
int lives_sum(struct life *life, int n) LG_ERROR(-7);
int lives_both(struct life *one, struct life *other) LG_ERROR(-7);
int lives_numbers(const int *numbers LG_IN LG_SIZE(n), int n) LG_ERROR(-7);

#endif
