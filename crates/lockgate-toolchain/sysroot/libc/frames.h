/* Frames of functions in progress, for the unwinder (unwind.c) and what else asks for them. */
#ifndef LOCKGATE_FRAMES_H
#define LOCKGATE_FRAMES_H

#include <stdint.h>
#include <unwind.h>

#define LG_HIDDEN __attribute__((visibility("hidden")))

/* The registers that functions keep, as libc/unwind_entry.S stores them. */
struct lg_kept {
    uintptr_t rbx, rbp, r12, r13, r14, r15;
};

enum { LG_GENERAL = 16, LG_RAX = 0, LG_RDX = 1, LG_RBX = 3, LG_RBP = 6, LG_RSP = 7, LG_R12 = 12, LG_RETURN = 16 };

/* How a caller's register is found. */
struct lg_rule {
    enum { LG_OFFSET, LG_VALUE_OFFSET, LG_REGISTER, LG_EXPRESSION, LG_VALUE_EXPRESSION } kind;
    union {
        intptr_t offset;
        const unsigned char *expression;
    };
};

/* What unwind tables say of a place. */
struct lg_description {
    /* A bit for each register that has a rule; the caller's others are as they are. */
    unsigned ruled;
    struct lg_rule rules[LG_GENERAL];
    /* Bytes of arguments on the stack. */
    uintptr_t arguments;
};

/* What unwind tables have in common for many functions (CIE). */
struct lg_common {
    /* Where it is; 0: none was read yet. */
    const unsigned char *at;
    uintptr_t code_factor;
    intptr_t data_factor;
    _Unwind_Personality_Fn personality;
    unsigned char is_augmented, pointers, lsda;
    struct lg_description rules;
};

/* A row of `lg_functions`: where a function goes on, and its frame's canonical address (CFA), on the data stack. */
struct lg_row {
    uintptr_t site, cfa;
};

/* Rows on the stack, and how many are asked for at first by what goes far, or to the next landing pad. */
enum { LG_ROWS = 128, LG_FAR = 16, LG_NEAR = 6 };

/* The functions that were in progress when `start` was called, innermost first. */
struct lg_rows {
    /* CFA of the innermost one's callee, from which on rows are asked for. */
    uintptr_t below;
    /* What is there now: rows `from` to `from + count`. The unwinder's own functions have numbers below 0. */
    struct lg_row *rows;
    long from, count, room;
    /* The one of the function that was described last: mostly that of the next one, too. */
    struct lg_common common;
    struct lg_row first[LG_ROWS];
};

/* A function's frame. Registers have DWARF's numbers. */
struct _Unwind_Context {
    uintptr_t registers[LG_GENERAL];
    /* Where the function goes on, or, for a landing pad, is to go on. */
    uintptr_t site;
    uintptr_t cfa;
    /* Its rsp there, as an address on the data stack: the CFA of what it has called. */
    uintptr_t rsp;
    /* Number of its row. */
    long number;
    struct lg_rows *rows;
    /* What `lg_describe` has found out. */
    uintptr_t start, lsda, arguments;
    _Unwind_Personality_Fn personality;
    struct lg_description *description;
};

/* An image that joins the domain: its code, and its table of frame descriptions (.eh_frame_hdr). Each time at the same place. */
void __lg_add_frames(uintptr_t start, uintptr_t end, const unsigned char *table);

/* The frame of the function that called what has kept registers at `kept` on its stack, just below its return slot. 0 if there is none.
   `likely`: about how many frames will be looked at, at most LG_ROWS. */
LG_HIDDEN int __lg_first_frame(struct _Unwind_Context *context, struct lg_rows *rows, const struct lg_kept *kept, long likely);
/* Finds out what the tables say of a frame. 0 if they say nothing. */
LG_HIDDEN int __lg_describe(struct _Unwind_Context *context, struct lg_description *description);
/* Goes on to the caller of a frame that is described. 0 if there is none. */
LG_HIDDEN int __lg_next_frame(struct _Unwind_Context *context);
/* Ends the use of rows. */
LG_HIDDEN void __lg_free_rows(struct lg_rows *rows);
/* Start of the function around `address`; 0 if no table describes it. */
LG_HIDDEN uintptr_t __lg_function_start(uintptr_t address);

/* A pointer of the tables with its DW_EH_PE encoding; moves `at` on. */
LG_HIDDEN uintptr_t __lg_read_pointer(const unsigned char **at, unsigned char encoding, uintptr_t base);
LG_HIDDEN uintptr_t __lg_read_uleb(const unsigned char **at);
LG_HIDDEN intptr_t __lg_read_sleb(const unsigned char **at);

#endif
