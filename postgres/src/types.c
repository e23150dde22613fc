#include "types.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "exchange.h"
#include "rows.h"
#include "states.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/float.h"
#include "utils/geo_decls.h"
#include "utils/lsyscache.h"
#include "variable.h"

static void check_bool(void *object) {
    *(uint8 *)object = *(uint8 *)object != 0;
}

static void check_date(void *object) {
    DateADT date = *(DateADT *)object;
    if (!DATE_NOT_FINITE(date) && !IS_VALID_DATE(date))
        ereport(ERROR, errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE), errmsg("date out of range: %d days from 2000-01-01", date));
}

static void check_time(void *object) {
    TimeADT time = *(TimeADT *)object;
    if (time < 0 || time > USECS_PER_DAY)
        ereport(ERROR, errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE), errmsg("time out of range: %lld microseconds", (long long)time));
}

static void check_timestamp(void *object) {
    Timestamp stamp = *(Timestamp *)object;
    if (!TIMESTAMP_NOT_FINITE(stamp) && !IS_VALID_TIMESTAMP(stamp))
        ereport(ERROR, errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
                errmsg("timestamp out of range: %lld microseconds from 2000-01-01", (long long)stamp));
}

static void sort(float8 *low, float8 *high) {
    if (float8_lt(*high, *low)) {
        float8 lower = *high;
        *high = *low;
        *low = lower;
    }
}

/* Operators of box take it for granted that `high` is not below `low`, as the server compares: what is no number is above all numbers. */
static void check_box(void *object) {
    BOX *box = object;
    sort(&box->low.x, &box->high.x);
    sort(&box->low.y, &box->high.y);
}

static void check_circle(void *object) {
    double radius = ((CIRCLE *)object)->radius;
    if (radius < 0)
        ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("radius of a circle is negative: %g", radius));
}

#define POINT "struct { double x; double y; }"
#define SPAN(type, count) "struct { const " type " *at; size_t " count "; }"

const Type type_void = {VOIDOID, "void", 0, IN_INTEGERS, true};
const Type type_pointer = {InvalidOid, "void *", 8, IN_INTEGERS, true};

/* lockgate.state, whose number is another one in each database. */
const Type type_state = {InvalidOid, "lg_pg_state *", 8, IN_INTEGERS, true};

static const Type plain[] = {
    {BOOLOID, "_Bool", 1, IN_INTEGERS, true, check_bool},
    {INT2OID, "int16_t", 2, IN_INTEGERS, true},
    {INT4OID, "int32_t", 4, IN_INTEGERS, true},
    {INT8OID, "int64_t", 8, IN_INTEGERS, true},
    {OIDOID, "uint32_t", 4, IN_INTEGERS, true},
    {FLOAT4OID, "float", 4, IN_REALS, true},
    {FLOAT8OID, "double", 8, IN_REALS, true},
    {DATEOID, "int32_t", 4, IN_INTEGERS, true, check_date},
    {TIMEOID, "int64_t", 8, IN_INTEGERS, true, check_time},
    {TIMESTAMPOID, "int64_t", 8, IN_INTEGERS, true, check_timestamp},
    {TIMESTAMPTZOID, "int64_t", 8, IN_INTEGERS, true, check_timestamp},
    {INTERVALOID, "struct { int64_t microseconds; int32_t days; int32_t months; }", 16, IN_INTEGERS, false},
    {UUIDOID, "struct { unsigned char bytes[16]; }", 16, IN_INTEGERS, false},
    {POINTOID, POINT, 16, IN_REALS, false},
    {LSEGOID, "struct { " POINT " ends[2]; }", 32, IN_MEMORY, false},
    {BOXOID, "struct { " POINT " high; " POINT " low; }", 32, IN_MEMORY, false, check_box},
    {CIRCLEOID, "struct { " POINT " center; double radius; }", 24, IN_MEMORY, false, check_circle},
};

#define TEXT .c = SPAN("char", "size"), .size = 16, .give = give_text, .take = take_text
static const Type variable[] = {
    {TEXTOID, TEXT},
    {VARCHAROID, TEXT},
    {BPCHAROID, TEXT},
    {JSONOID, .c = SPAN("char", "size"), .size = 16, .give = give_text, .take = take_json},
    {BYTEAOID, .c = SPAN("void", "size"), .size = 16, .give = give_text, .take = take_bytes},
    {NUMERICOID, .c = "const lg_pg_numeric *", .size = 8, .give = give_numeric, .take = take_numeric},
    {PATHOID, .c = "const lg_pg_path *", .size = 8, .give = give_shape, .take = take_path},
    {POLYGONOID, .c = "const lg_pg_polygon *", .size = 8, .give = give_shape, .take = take_polygon},
};

/* Elements of arrays, and what a pointer to them is called. */
static const struct { Oid oid; const char *c; } elements[] = {
    {BOOLOID, SPAN("_Bool", "count")},         {INT2OID, SPAN("int16_t", "count")},      {INT4OID, SPAN("int32_t", "count")},
    {INT8OID, SPAN("int64_t", "count")},       {FLOAT4OID, SPAN("float", "count")},      {FLOAT8OID, SPAN("double", "count")},
    {DATEOID, SPAN("int32_t", "count")},       {TIMEOID, SPAN("int64_t", "count")},      {TIMESTAMPOID, SPAN("int64_t", "count")},
    {TIMESTAMPTZOID, SPAN("int64_t", "count")}, {UUIDOID, SPAN("lg_pg_uuid", "count")},  {POINTOID, SPAN("lg_pg_point", "count")},
};

static const Type *array_of(Oid oid, int *columns) {
    Oid element = get_element_type(oid);
    if (element == TEXTOID || element == VARCHAROID) {
        Type *texts = palloc0(sizeof(Type));
        *texts = (Type){oid, .c = SPAN("lg_pg_text", "count"), .size = 16, .give = give_texts, .take = take_texts, .element = type_of(element, columns)};
        return texts;
    }
    for (int i = 0; OidIsValid(element) && i < lengthof(elements); i++) {
        if (elements[i].oid != element)
            continue;
        Type *array = palloc0(sizeof(Type));
        *array = (Type){oid, .c = elements[i].c, .size = 16, .give = give_array, .take = take_array, .element = type_of(element, columns)};
        array->length = get_typlen(element);
        Assert(array->length == array->element->size);
        return array;
    }
    return NULL;
}

const Type *type_of(Oid oid, int *columns) {
    oid = getBaseType(oid);
    for (int i = 0; i < lengthof(plain); i++)
        if (plain[i].oid == oid)
            return &plain[i];
    for (int i = 0; i < lengthof(variable); i++)
        if (variable[i].oid == oid)
            return &variable[i];
    if (oid == state_oid())
        return &type_state;
    if (get_typtype(oid) == TYPTYPE_COMPOSITE)
        return row_type(oid, row_layout_of(oid, false, columns));
    return array_of(oid, columns);
}

Datum type_take_checked(const Type *type, void *object, struct Domain *domain) {
    if (type->take)
        return type->take(type, object, domain);
    if (type->check)
        type->check(object);
    if (!type->by_value) {
        void *value = palloc(type->size);
        memcpy(value, object, type->size);
        return PointerGetDatum(value);
    }
    switch (type->size) {
    case 4: return Int32GetDatum(*(int32 *)object);
    default: return Int64GetDatum(*(int64 *)object);
    }
}
