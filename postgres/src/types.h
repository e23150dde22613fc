/* Types of SQL as types of C: what lockgate_pg.h documents. */
#ifndef LOCKGATE_TYPES_H
#define LOCKGATE_TYPES_H

#include "postgres.h"

#include "catalog/pg_type.h"

struct Exchange;
struct Domain;

/* How the ABI for x86-64 passes an object of C (System V ABI, 3.2.3): its eightbytes in general or in vector registers, or on the stack. */
typedef enum Passing { IN_INTEGERS, IN_REALS, IN_MEMORY } Passing;

typedef struct Type Type;
struct Type {
    Oid oid;
    const char *c;   /* as prototypes of modules write it */
    uint16 size;     /* of the object of C, bytes */
    Passing passing;
    bool by_value;   /* the Datum has the object's bits */

    /* Plain types: the object has the value's bytes. NULL, or brings bytes of any value into the form that the server relies on, or fails. */
    void (*check)(void *object);

    /* Others: makes the object, with what it points to in the exchange; and makes a value, checked, of an object of the domain's. */
    void (*give)(const Type *type, Datum value, void *object, struct Exchange *exchange);
    Datum (*take)(const Type *type, const void *object, struct Domain *domain);
    const struct RowLayout *row; /* of a composite value */
    const Type *element;         /* of an array */
    int16 length;                /* of an element's value, bytes */
};

/* lg_pg_text and its like. */
typedef struct Span {
    const char *at;
    uint64 size;
} Span;

/* The largest object, bytes. */
#define MAX_OBJECT 64

/* The type with this number, allocated in the current memory context if need be; NULL if there is none in C. `columns` counts down the columns that
 * row types may have at all levels. */
const Type *type_of(Oid oid, int *columns);

/* How objects of the type are aligned in structures of C. */
static inline Size type_align(const Type *type) {
    return type->by_value ? Max(type->size, 1) : type->oid == UUIDOID ? 1 : sizeof(uint64);
}

/* What void is in C, and a pointer that only its receiver understands. */
extern const Type type_void, type_pointer, type_state;

/* Copies a plain object that is no Datum: whole eightbytes, one by one, as they are loaded into registers next. (A load that is wider than what was
 * stored there has to wait until all earlier stores are done, a polygon's copy among them.) */
static inline void type_copy(void *to, const void *from, Size size) {
    for (Size at = 0; at < size; at += sizeof(uint64)) {
        uint64 word;
        memcpy(&word, (const char *)from + at, sizeof word);
        memcpy((char *)to + at, &word, sizeof word);
    }
}

/* The object of a value, and the other way round. */
static inline void type_give(const Type *type, Datum value, void *object, struct Exchange *exchange) {
    if (type->give)
        type->give(type, value, object, exchange);
    else if (type->by_value)
        memcpy(object, &value, type->size);
    else
        type_copy(object, DatumGetPointer(value), type->size);
}

Datum type_take_checked(const Type *type, void *object, struct Domain *domain);

/* Whether an object of any bits makes a Datum. (So do truth values, the only ones of one byte: what functions in conditions return.) */
static inline bool type_is_any(const Type *type) {
    return !type->take && (!type->check || type->size == 1) && type->by_value;
}

/* That Datum. */
static inline Datum type_take_word(Size size, const void *object) {
    switch (size) {
    case 0: return (Datum)0;
    case 1: return BoolGetDatum(*(const uint8 *)object != 0);
    case 2: return Int16GetDatum(*(const int16 *)object);
    case 4: return Int32GetDatum(*(const int32 *)object);
    default: return Int64GetDatum(*(const int64 *)object);
    }
}

static inline Datum type_take(const Type *type, void *object, struct Domain *domain) {
    return type_is_any(type) ? type_take_word(type->size, object) : type_take_checked(type, object, domain);
}

#endif
