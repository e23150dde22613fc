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
    uint8 words;  /* that are copied there from where the Datum points; or 0 */
    bool is_word; /* the Datum goes there as it is */
} Place;

/* Where everything goes. */
typedef struct Layout {
    int count;
    bool has_reals;
    int stacked; /* eightbytes on the stack */
    bool is_short; /* few arguments, and a Datum out */
    const Type *result;
    bool is_any; /* the result is a Datum whatever its bits are */
    Place places[FUNC_MAX_ARGS];
} Layout;

/* ERROR if there are more arguments than there is room. */
void layout_make(Layout *layout, const Procedure *procedure);

/* One argument, which is not null, and what it points to in the exchange. */
static inline void layout_give_one(const Place *place, Datum value, Registers *registers, Exchange *exchange) {
    uint64 *words = (uint64 *)registers;
    if (place->is_word)
        words[place->at] = value;
    else if (place->words)
        type_copy(&words[place->at], DatumGetPointer(value), place->words * sizeof *words);
    else
        place->type->give(place->type, value, &words[place->at], exchange);
}

/* All of them; where nulls go, nothing is written. */
static inline void layout_give_all(const Layout *layout, FunctionCallInfo call, Registers *registers, Exchange *exchange) {
    const NullableDatum *argument = call->args;
    for (const Place *place = layout->places, *end = place + layout->count; place < end; place++, argument++)
        if (likely(!argument->isnull))
            layout_give_one(place, argument->value, registers, exchange);
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
    layout_give_all(layout, call, registers, exchange);
}

/* Calls `code`; what it returns goes to `result`. */
void layout_call(const Layout *layout, lg_code code, Registers *registers);

/* What a short layout has at most. */
#define SHORT_INTEGERS 4
#define SHORT_REALS 2
#define SHORT_STACKED 4

/* The same two for a short layout; the second returns the word. (Proxies clear the registers that are no arguments.) */
static inline void layout_give_short(const Layout *layout, FunctionCallInfo call, Registers *registers, Exchange *exchange) {
    memset(registers->integers, 0, SHORT_INTEGERS * sizeof *registers->integers);
    if (layout->has_reals) {
        memset(registers->reals, 0, SHORT_REALS * sizeof *registers->reals);
        memset(registers->stack, 0, SHORT_STACKED * sizeof *registers->stack);
    }
    layout_give_all(layout, call, registers, exchange);
}

/* What is on the stack comes behind six integers. */
#define SHORT_CALL(Result)                                                                                                         \
    static inline Result layout_call_short_##Result(const Layout *layout, lg_code code, const Registers *registers) {              \
        const uint64 *integers = registers->integers, *stack = registers->stack;                                                   \
        const double *reals = registers->reals;                                                                                    \
        if (!layout->has_reals) {                                                                                                  \
            typedef Result (*Plain)(uint64, uint64, uint64, uint64);                                                               \
            return ((Plain)code)(integers[0], integers[1], integers[2], integers[3]);                                              \
        }                                                                                                                          \
        if (layout->stacked == 0) {                                                                                                \
            typedef Result (*Mixed)(uint64, uint64, uint64, uint64, double, double);                                               \
            return ((Mixed)code)(integers[0], integers[1], integers[2], integers[3], reals[0], reals[1]);                          \
        }                                                                                                                          \
        typedef Result (*Stacked)(uint64, uint64, uint64, uint64, uint64, uint64, double, double, uint64, uint64, uint64, uint64); \
        return ((Stacked)code)(integers[0], integers[1], integers[2], integers[3], 0, 0, reals[0], reals[1], stack[0], stack[1],   \
                               stack[2], stack[3]);                                                                                \
    }
SHORT_CALL(uint64)
SHORT_CALL(double)
#undef SHORT_CALL

static inline uint64 layout_call_short(const Layout *layout, lg_code code, const Registers *registers) {
    if (layout->result->passing != IN_REALS)
        return layout_call_short_uint64(layout, code, registers);
    double result = layout_call_short_double(layout, code, registers);
    uint64 word;
    memcpy(&word, &result, sizeof word);
    return word;
}

#endif
