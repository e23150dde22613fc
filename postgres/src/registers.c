#include "registers.h"

#define AT(member) (offsetof(Registers, member) / 8)

/* Functions of C that take all registers, whatever they make of them: a function that takes fewer does not look at the others. What is on the stack comes
 * first in, so that it is where a function that takes less of it expects it. */
#define SOME_INTEGERS uint64, uint64, uint64, uint64, uint64, uint64
#define SOME_REALS double, double, double, double, double, double, double, double
#define FOUR_WORDS uint64, uint64, uint64, uint64
#define SOME_STACK FOUR_WORDS, FOUR_WORDS, FOUR_WORDS, FOUR_WORDS

/* Results in rax and rdx, and in xmm0 and xmm1. */
typedef struct Integers { uint64 first, second; } Integers;
typedef struct Reals { double first, second; } Reals;

#define LIST4(a) (a)[0], (a)[1], (a)[2], (a)[3]
#define LIST6(a) (a)[0], (a)[1], (a)[2], (a)[3], (a)[4], (a)[5]
#define LIST8(a) LIST6(a), (a)[6], (a)[7]
#define LIST16(a) LIST8(a), LIST8((a) + 8)

/* The ways to pass arguments, for both kinds of result. Most arguments on the stack are one structure. */
#define CALL(Result)                                                                                                              \
    static inline Result call_##Result(const Layout *layout, lg_code code, const Registers *registers) {                          \
        const uint64 *integers = registers->integers, *stack = registers->stack;                                                  \
        if (!layout->has_reals)                                                                                                   \
            return ((Result(*)(SOME_INTEGERS))code)(LIST6(integers));                                                             \
        const double *reals = registers->reals;                                                                                   \
        if (layout->stacked == 0)                                                                                                 \
            return ((Result(*)(SOME_INTEGERS, SOME_REALS))code)(LIST6(integers), LIST8(reals));                                   \
        if (layout->stacked <= 4)                                                                                                 \
            return ((Result(*)(SOME_INTEGERS, SOME_REALS, FOUR_WORDS))code)(LIST6(integers), LIST8(reals), LIST4(stack));         \
        return ((Result(*)(SOME_INTEGERS, SOME_REALS, SOME_STACK))code)(LIST6(integers), LIST8(reals), LIST16(stack));            \
    }
CALL(Integers)
CALL(Reals)

void layout_make(Layout *layout, const Procedure *procedure) {
    memset(layout, 0, sizeof *layout);
    layout->count = procedure->count;
    layout->result = procedure->result;
    layout->is_any = type_is_any(procedure->result);
    /* A result in memory: its address is the first argument. */
    int integers = procedure->result->passing == IN_MEMORY, reals = 0, stacked = 0;
    for (int i = 0; i < procedure->count; i++) {
        const Type *type = procedure->arguments[i];
        int words = (type->size + 7) / 8;
        Place *place = &layout->places[i];
        place->type = type;
        place->is_word = type->by_value;
        place->words = type->give ? 0 : words;
        if (type->passing == IN_INTEGERS && integers + words <= INTEGERS) {
            place->at = AT(integers) + integers;
            integers += words;
        } else if (type->passing == IN_REALS && reals + words <= REALS) {
            place->at = AT(reals) + reals;
            reals += words;
        } else {
            if (stacked + words > STACKED)
                ereport(ERROR, errcode(ERRCODE_TOO_MANY_ARGUMENTS),
                        errmsg("arguments of functions in language lgc have at most %d words of 8 bytes that are not in registers", STACKED),
                        errdetail("%d whole numbers, spans' halves and pointers are in registers, and %d floating-point numbers.", INTEGERS, REALS));
            place->at = AT(stack) + stacked;
            stacked += words;
        }
    }
    layout->is_short = !procedure->is_trigger && !procedure->set && procedure->result->by_value && integers <= SHORT_INTEGERS &&
                       reals <= SHORT_REALS && stacked <= SHORT_STACKED;
    layout->has_reals = reals > 0 || stacked > 0 || procedure->result->passing == IN_REALS;
    layout->stacked = stacked;
}

void layout_call(const Layout *layout, lg_code code, Registers *registers) {
    if (layout->result->passing == IN_REALS) {
        Reals returned = call_Reals(layout, code, registers);
        memcpy(registers->result, &returned, sizeof returned);
    } else {
        Integers returned = call_Integers(layout, code, registers);
        if (layout->result->passing == IN_INTEGERS)
            memcpy(registers->result, &returned, sizeof returned);
    }
}
