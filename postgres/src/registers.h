/* Arguments and results in registers, as compiled code of C passes them on x86-64 (System V ABI, 3.2.3). */
#ifndef LOCKGATE_REGISTERS_H
#define LOCKGATE_REGISTERS_H

#include "postgres.h"

#include "domains.h"
#include "fmgr.h"
#include "procedure.h"

#define INTEGERS 6
#define REALS 8
/* Eightbytes on the stack. */
#define STACKED 16

typedef struct Registers {
    uint64 integers[INTEGERS];
    double reals[REALS];
    uint64 stack[STACKED];
    uint64 result[MAX_OBJECT / 8];
} Registers;

/* Where an argument goes. */
typedef struct Place {
    const Type *type;
    uint16 at;    /* eightbytes from the start of Registers */
    bool is_word; /* the Datum goes there as it is */
} Place;

/* Where everything goes. */
typedef struct Layout {
    int count;
    bool has_reals;
    int stacked; /* eightbytes on the stack */
    bool is_short; /* few arguments, all in registers and none of them null, and a Datum out */
    const Type *result;
    Place places[FUNC_MAX_ARGS];
} Layout;

/* ERROR if there are more arguments than there is room. */
void layout_make(Layout *layout, const Procedure *procedure);

/* One argument, which is not null, and what it points to in the exchange. */
static inline void layout_give_one(const Place *place, Datum value, Registers *registers, Exchange *exchange) {
    uint64 *words = (uint64 *)registers;
    if (place->is_word)
        words[place->at] = value;
    else
        type_give(place->type, value, &words[place->at], exchange);
}

/* Puts the arguments where they go. Nulls are zeros. */
static inline void layout_give(const Layout *layout, FunctionCallInfo call, Registers *registers, Exchange *exchange) {
    /* Registers without an argument hold nothing of the server's. */
    memset(registers->integers, 0, sizeof registers->integers);
    if (layout->has_reals)
        memset(registers->reals, 0, sizeof registers->reals);
    for (int i = 0; i < layout->stacked; i++)
        registers->stack[i] = 0;
    if (layout->result->passing == IN_MEMORY)
        registers->integers[0] = (uint64)(uintptr_t)registers->result;
    for (int i = 0; i < layout->count; i++)
        if (!call->args[i].isnull)
            layout_give_one(&layout->places[i], call->args[i].value, registers, exchange);
}

/* Calls `code`; what it returns goes to `result`. */
void layout_call(const Layout *layout, lg_code code, Registers *registers);

/* What a short layout has at most. */
#define SHORT_INTEGERS 4
#define SHORT_REALS 2

/* The same two for a short layout; the second returns the word. (Proxies clear the registers that are no arguments.) */
static inline void layout_give_short(const Layout *layout, FunctionCallInfo call, Registers *registers, Exchange *exchange) {
    memset(registers->integers, 0, SHORT_INTEGERS * sizeof *registers->integers);
    if (layout->has_reals)
        memset(registers->reals, 0, SHORT_REALS * sizeof *registers->reals);
    for (int i = 0; i < layout->count; i++)
        layout_give_one(&layout->places[i], call->args[i].value, registers, exchange);
}

static inline uint64 layout_call_short(const Layout *layout, lg_code code, const Registers *registers) {
    const uint64 *integers = registers->integers;
    const double *reals = registers->reals;
#define SHORT_ARGUMENTS integers[0], integers[1], integers[2], integers[3]
    if (layout->result->passing == IN_REALS) {
        typedef double (*Real)(uint64, uint64, uint64, uint64, double, double);
        double result = ((Real)code)(SHORT_ARGUMENTS, reals[0], reals[1]);
        uint64 word;
        memcpy(&word, &result, sizeof word);
        return word;
    }
    if (layout->has_reals) {
        typedef uint64 (*Mixed)(uint64, uint64, uint64, uint64, double, double);
        return ((Mixed)code)(SHORT_ARGUMENTS, reals[0], reals[1]);
    }
    typedef uint64 (*Integer)(uint64, uint64, uint64, uint64);
    return ((Integer)code)(SHORT_ARGUMENTS);
#undef SHORT_ARGUMENTS
}

#endif
