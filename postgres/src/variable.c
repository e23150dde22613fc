#include "variable.h"

#include "domains.h"
#include "exchange.h"
#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/geo_decls.h"
#include "utils/memutils.h"
#include "utils/numeric.h"

/* A varlena of `count` things of `size` bytes behind a header, with what the domain has at `at` behind it. */
static void *take_varlena(struct Domain *domain, const void *at, Size header, uint64 count, Size size) {
    if (count > (MaxAllocSize - header) / size)
        ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                errmsg("a function of module %s returned a value that is too large: %llu times %zu bytes", domain->module,
                       (unsigned long long)count, size));
    void *value = domain_take(domain, header, at, count * size);
    SET_VARSIZE(value, header + count * size);
    return value;
}

void give_text(const Type *type, Datum value, void *object, struct Exchange *exchange) {
    struct varlena *text = PG_DETOAST_DATUM_PACKED(value);
    Span *span = object;
    span->size = VARSIZE_ANY_EXHDR(text);
    span->at = exchange_put(exchange, VARDATA_ANY(text), span->size);
    if ((Pointer)text != DatumGetPointer(value))
        pfree(text);
}

Datum take_bytes(const Type *type, const void *object, struct Domain *domain) {
    const Span *span = object;
    return PointerGetDatum(take_varlena(domain, span->at, VARHDRSZ, span->size, 1));
}

Datum take_text(const Type *type, const void *object, struct Domain *domain) {
    Datum text = take_bytes(type, object, domain);
    pg_verifymbstr(VARDATA(DatumGetPointer(text)), VARSIZE(DatumGetPointer(text)) - VARHDRSZ, false);
    return text;
}

Datum take_json(const Type *type, const void *object, struct Domain *domain) {
    char *string = TextDatumGetCString(take_text(type, object, domain));
    return DirectFunctionCall1(json_in, CStringGetDatum(string));
}

/* Paths and polygons go over as they are, but for the first word: their size, plainly. */
static inline void put_shape(const struct varlena *shape, void *object, struct Exchange *exchange) {
    uint32 size = VARSIZE(shape);
    uint32 *copy = exchange_put(exchange, shape, size);
    *copy = size;
    *(const void **)object = copy;
}

static pg_noinline void give_packed_shape(struct varlena *packed, void *object, struct Exchange *exchange) {
    struct varlena *shape = pg_detoast_datum(packed);
    put_shape(shape, object, exchange);
    pfree(shape);
}

void give_shape(const Type *type, Datum value, void *object, struct Exchange *exchange) {
    struct varlena *shape = (struct varlena *)DatumGetPointer(value);
    if (unlikely(VARATT_IS_EXTENDED(shape)))
        give_packed_shape(shape, object, exchange);
    else
        put_shape(shape, object, exchange);
}

/* The number of points that a shape says it has. */
static int32 count_of_points(struct Domain *domain, const char *shape) {
    int32 count;
    domain_read(domain, &count, shape + offsetof(POLYGON, npts), sizeof count);
    if (count <= 0)
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("a function of module %s returned a shape of %d points", domain->module, count));
    return count;
}

Datum take_path(const Type *type, const void *object, struct Domain *domain) {
    const char *at = *(const char *const *)object;
    int32 count = count_of_points(domain, at), closed;
    domain_read(domain, &closed, at + offsetof(PATH, closed), sizeof closed);
    PATH *path = take_varlena(domain, at + offsetof(PATH, p), offsetof(PATH, p), count, sizeof(Point));
    path->npts = count;
    path->closed = closed != 0;
    path->dummy = 0;
    return PathPGetDatum(path);
}

Datum take_polygon(const Type *type, const void *object, struct Domain *domain) {
    const char *at = *(const char *const *)object;
    int32 count = count_of_points(domain, at);
    POLYGON *polygon = take_varlena(domain, at + offsetof(POLYGON, p), offsetof(POLYGON, p), count, sizeof(Point));
    polygon->npts = count;
    BOX bounds = {polygon->p[0], polygon->p[0]};
    for (int i = 1; i < count; i++) {
        Point point = polygon->p[i];
        /* (What is no number is above all numbers.) */
        bounds.high.x = float8_max(bounds.high.x, point.x);
        bounds.high.y = float8_max(bounds.high.y, point.y);
        bounds.low.x = float8_min(bounds.low.x, point.x);
        bounds.low.y = float8_min(bounds.low.y, point.y);
    }
    polygon->boundbox = bounds;
    return PolygonPGetDatum(polygon);
}

/* lg_pg_numeric is what numeric_send() and numeric_recv() say, in the machine's byte order. */
#define NUMERIC_HEADER 8

void give_numeric(const Type *type, Datum value, void *object, struct Exchange *exchange) {
    bytea *sent = DatumGetByteaP(DirectFunctionCall1(numeric_send, value));
    Size words = (VARSIZE(sent) - VARHDRSZ) / sizeof(uint16);
    const uint16 *from = (const uint16 *)VARDATA(sent);
    uint16 *to = exchange_room(exchange, words * sizeof(uint16));
    *(const void **)object = to;
    for (Size i = 0; i < words; i++)
        to[i] = pg_ntoh16(from[i]);
    pfree(sent);
}

Datum take_numeric(const Type *type, const void *object, struct Domain *domain) {
    const char *at = *(const char *const *)object;
    uint16 header[NUMERIC_HEADER / sizeof(uint16)];
    domain_read(domain, header, at, NUMERIC_HEADER);
    StringInfoData message;
    initStringInfo(&message);
    for (int i = 0; i < lengthof(header); i++)
        pq_sendint16(&message, header[i]);
    uint16 *digits = domain_take(domain, 0, at + NUMERIC_HEADER, header[0] * sizeof(uint16));
    for (int i = 0; i < header[0]; i++)
        pq_sendint16(&message, digits[i]);
    pfree(digits);
    /* It looks at every field. */
    Datum number = DirectFunctionCall3(numeric_recv, PointerGetDatum(&message), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
    pfree(message.data);
    return number;
}

static ArrayType *one_dimension(Datum value) {
    ArrayType *array = DatumGetArrayTypeP(value);
    if (ARR_NDIM(array) > 1)
        ereport(ERROR, errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
                errmsg("functions in language lgc take arrays of one dimension, not %d", ARR_NDIM(array)));
    return array;
}

void give_array(const Type *type, Datum value, void *object, struct Exchange *exchange) {
    ArrayType *array = one_dimension(value);
    if (array_contains_nulls(array))
        ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("functions in language lgc take arrays without nulls"));
    Span *span = object;
    span->size = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
    span->at = exchange_put(exchange, ARR_DATA_PTR(array), span->size * type->length);
    if ((Pointer)array != DatumGetPointer(value))
        pfree(array);
}

Datum take_array(const Type *type, const void *object, struct Domain *domain) {
    const Span *span = object;
    Oid element = type->element->oid;
    if (span->size == 0)
        return PointerGetDatum(construct_empty_array(element));
    Size header = ARR_OVERHEAD_NONULLS(1);
    ArrayType *array = take_varlena(domain, span->at, header, span->size, type->length);
    array->ndim = 1;
    array->dataoffset = 0;
    array->elemtype = element;
    ARR_DIMS(array)[0] = (int)span->size;
    ARR_LBOUND(array)[0] = 1;
    if (type->element->check)
        for (uint64 i = 0; i < span->size; i++)
            type->element->check(ARR_DATA_PTR(array) + i * type->length);
    return PointerGetDatum(array);
}

/* Spans of spans; a null is one that points nowhere. */
void give_texts(const Type *type, Datum value, void *object, struct Exchange *exchange) {
    ArrayType *array = one_dimension(value);
    Datum *values;
    bool *nulls;
    int count;
    deconstruct_array(array, ARR_ELEMTYPE(array), -1, false, TYPALIGN_INT, &values, &nulls, &count);
    Span *span = object;
    span->size = count;
    Span *texts = exchange_room(exchange, count * sizeof(Span));
    span->at = (const char *)texts;
    for (int i = 0; i < count; i++) {
        texts[i] = (Span){0};
        if (!nulls[i])
            give_text(type->element, values[i], &texts[i], exchange);
    }
    pfree(values);
    pfree(nulls);
    if ((Pointer)array != DatumGetPointer(value))
        pfree(array);
}

/* Many spans may lead to the same bytes: what comes of them is larger than what the domain has. */
static pg_noinline void too_large(const struct Domain *domain) {
    ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("a function of module %s returned an array that is too large", domain->module));
}

Datum take_texts(const Type *type, const void *object, struct Domain *domain) {
    const Span *span = object;
    if (span->size > MaxAllocSize / sizeof(Span))
        too_large(domain);
    int count = (int)span->size, lower = 1;
    Span *texts = domain_take(domain, 0, span->at, count * sizeof(Span));
    Datum *values = palloc0(count * sizeof(Datum));
    bool *nulls = palloc(count);
    Size left = MaxAllocSize;
    for (int i = 0; i < count; i++) {
        nulls[i] = !texts[i].at;
        if (!nulls[i] && texts[i].size > left)
            too_large(domain);
        left -= nulls[i] ? 0 : texts[i].size;
    }
    for (int i = 0; i < count; i++) {
        if (!nulls[i])
            values[i] = take_text(type->element, &texts[i], domain);
    }
    ArrayType *array = construct_md_array(values, nulls, count ? 1 : 0, &count, &lower, type->element->oid, -1, false, TYPALIGN_INT);
    for (int i = 0; i < count; i++)
        if (!nulls[i])
            pfree(DatumGetPointer(values[i]));
    pfree(texts);
    pfree(values);
    pfree(nulls);
    return PointerGetDatum(array);
}
