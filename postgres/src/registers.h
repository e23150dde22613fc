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
    bool is_simple; /* one to three integers in, one out */
    const Type *result;
    Place places[FUNC_MAX_ARGS];
} Layout;

/* ERROR if there are more arguments than there is room. */
void layout_make(Layout *layout, const Procedure *procedure);

/* Puts the arguments where they go, and what they point to in the exchange. Nulls are zeros. */
static inline void layout_give(const Layout *layout, FunctionCallInfo call, Registers *registers, Exchange *exchange) {
    uint64 *words = (uint64 *)registers;
    /* Registers without an argument hold nothing of the server's. */
    memset(registers->integers, 0, sizeof registers->integers);
    if (layout->has_reals)
        memset(registers->reals, 0, sizeof registers->reals);
    for (int i = 0; i < layout->stacked; i++)
        registers->stack[i] = 0;
    if (layout->result->passing == IN_MEMORY)
        registers->integers[0] = (uint64)(uintptr_t)registers->result;
    for (int i = 0; i < layout->count; i++) {
        const Place *place = &layout->places[i];
        if (call->args[i].isnull)
            continue;
        if (place->is_word)
            words[place->at] = call->args[i].value;
        else
            type_give(place->type, call->args[i].value, &words[place->at], exchange);
    }
}

/* Calls `code`; what it returns goes to `result`. */
void layout_call(const Layout *layout, lg_code code, Registers *registers);

/* The three in one for a simple layout, whose arguments are not null. (Proxies clear the registers that are no arguments.) */
static inline void layout_call_simple(const Layout *layout, lg_code code, FunctionCallInfo call, uint64 *result) {
    typedef uint64 (*Simple)(uint64, uint64, uint64);
    const NullableDatum *args = call->args;
    int count = layout->count;
    *result = ((Simple)code)(args[0].value, count > 1 ? args[1].value : 0, count > 2 ? args[2].value : 0);
}

/* The value that was returned, checked. */
static inline Datum layout_take(const Layout *layout, Registers *registers, Domain *domain) {
    return type_take(layout->result, registers->result, domain);
}

#endif
