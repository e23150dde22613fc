#include "rows.h"

#include "access/htup_details.h"
#include "domains.h"
#include "exchange.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

/* What a structure begins with: lg_pg_row. */
typedef struct Row {
    uint64 nulls; /* bit i: column i */
} Row;

/* What becomes of columns that cannot be. */
typedef enum Use { GIVEN, RETURNED, OF_A_TABLE } Use;

/* How values of the column are brought to its length. False if that is no call of one function. */
static bool fit(Form_pg_attribute attribute, Column *column) {
    column->length = attribute->atttypmod;
    if (attribute->atttypmod < 0)
        return true;
    return find_typmod_coercion_function(attribute->atttypid, &column->fit) != COERCION_PATH_ARRAYCOERCE;
}

static RowLayout *make(TupleDesc descriptor, Use use, int *columns) {
    /* Row types may be nested, without any bounds to it. */
    check_stack_depth();
    CHECK_FOR_INTERRUPTS();
    int count = descriptor->natts;
    if (count > MOST_COLUMNS)
        ereport(ERROR, errcode(ERRCODE_TOO_MANY_COLUMNS), errmsg("rows of functions in language lgc have at most %d columns", MOST_COLUMNS));
    *columns -= count;
    if (*columns < 0)
        ereport(ERROR, errcode(ERRCODE_TOO_MANY_COLUMNS),
                errmsg("the row types of a function in language lgc have at most %d columns in all", MOST_NESTED_COLUMNS),
                errdetail("Those of row types in them count."));
    RowLayout *layout = palloc0(offsetof(RowLayout, columns) + count * sizeof(Column));
    layout->descriptor = CreateTupleDescCopyConstr(descriptor);
    layout->size = sizeof(Row);
    for (int i = 0; i < count; i++) {
        Form_pg_attribute attribute = TupleDescAttr(descriptor, i);
        if (attribute->attisdropped)
            continue;
        Column *column = &layout->columns[i];
        char kind = get_typtype(attribute->atttypid);
        bool can_be = use == GIVEN || (kind != TYPTYPE_DOMAIN && kind != TYPTYPE_COMPOSITE && fit(attribute, column));
        const Type *type = can_be ? type_of(attribute->atttypid, columns) : NULL;
        /* (Whose it is could not be known.) */
        if (type == &type_state)
            type = NULL;
        if (!type && use == OF_A_TABLE)
            continue;
        if (!type)
            ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("functions in language lgc cannot have columns of type %s", format_type_be(attribute->atttypid)),
                    errhint("lockgate_pg.h lists the types."));
        column->type = type;
        column->at = TYPEALIGN(type_align(type), layout->size);
        layout->size = column->at + type->size;
    }
    layout->size = TYPEALIGN(sizeof(uint64), layout->size);
    return layout;
}

RowLayout *row_layout(TupleDesc descriptor, bool returned, int *columns) {
    return make(descriptor, returned ? RETURNED : GIVEN, columns);
}

RowLayout *row_layout_of_table(TupleDesc descriptor) {
    int columns = MOST_NESTED_COLUMNS;
    return make(descriptor, OF_A_TABLE, &columns);
}

RowLayout *row_layout_of(Oid type, bool returned, int *columns) {
    /* (First, so that it is never newer than the rest.) */
    uint64 version = assign_record_type_identifier(type, -1);
    TupleDesc descriptor = lookup_rowtype_tupdesc_copy(type, -1);
    RowLayout *layout = row_layout(descriptor, returned, columns);
    layout->version = version;
    return layout;
}

/* Fails if the row type has been changed since its layout was made, in the middle of a statement: a value would be taken for what it is not. */
static void check_version(Oid type, const RowLayout *layout) {
    if (layout->version && assign_record_type_identifier(type, -1) != layout->version)
        ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH), errmsg("type %s has been changed meanwhile", format_type_be(type)));
}

Tuplestorestate *rows_begin(FunctionCallInfo call, TupleDesc descriptor) {
    ReturnSetInfo *info = (ReturnSetInfo *)call->resultinfo;
    if (!info || !IsA(info, ReturnSetInfo) || !(info->allowedModes & SFRM_Materialize))
        ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("a function that returns a set was called where none can be"));
    MemoryContext before = MemoryContextSwitchTo(info->econtext->ecxt_per_query_memory);
    info->returnMode = SFRM_Materialize;
    info->setResult = tuplestore_begin_heap(info->allowedModes & SFRM_Materialize_Random, false, work_mem);
    info->setDesc = CreateTupleDescCopy(descriptor);
    MemoryContextSwitchTo(before);
    return info->setResult;
}

static void give_row(const Type *type, Datum value, void *object, struct Exchange *exchange) {
    const RowLayout *layout = type->row;
    HeapTupleHeader header = DatumGetHeapTupleHeader(value);
    check_version(type->oid, layout);
    if (HeapTupleHeaderGetTypeId(header) != type->oid)
        ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("a row of type %s is none of type %s", format_type_be(HeapTupleHeaderGetTypeId(header)), format_type_be(type->oid)));
    HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(header), .t_data = header};
    ItemPointerSetInvalid(&tuple.t_self);
    *(const void **)object = row_give(layout, &tuple, exchange);
}

const void *row_give(const RowLayout *layout, HeapTuple tuple, struct Exchange *exchange) {
    Datum values[MOST_COLUMNS];
    bool nulls[MOST_COLUMNS];
    heap_deform_tuple(tuple, layout->descriptor, values, nulls);
    char *row = exchange_room(exchange, layout->size);
    memset(row, 0, layout->size);
    for (int i = 0; i < layout->descriptor->natts; i++) {
        const Column *column = &layout->columns[i];
        if (!column->type || nulls[i])
            ((Row *)row)->nulls |= (uint64)1 << i;
        else
            type_give(column->type, values[i], row + column->at, exchange);
    }
    return row;
}

void row_take(const RowLayout *layout, const void *from, struct Domain *domain, Datum *values, bool *nulls) {
    char *row = domain_take(domain, 0, from, layout->size);
    for (int i = 0; i < layout->descriptor->natts; i++) {
        const Column *column = &layout->columns[i];
        nulls[i] = !column->type || ((Row *)row)->nulls >> i & 1;
        values[i] = nulls[i] ? (Datum)0 : type_take(column->type, row + column->at, domain);
        if (!nulls[i] && OidIsValid(column->fit))
            values[i] = OidFunctionCall3(column->fit, values[i], Int32GetDatum(column->length), BoolGetDatum(false));
    }
}

static Datum take_row(const Type *type, const void *object, struct Domain *domain) {
    const RowLayout *layout = type->row;
    check_version(type->oid, layout);
    Datum values[MOST_COLUMNS];
    bool nulls[MOST_COLUMNS];
    row_take(layout, *(const void *const *)object, domain, values, nulls);
    return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(layout->descriptor), values, nulls));
}

const Type *row_type(Oid oid, const RowLayout *layout) {
    Type *type = palloc0(sizeof *type);
    *type = (Type){oid, .c = "const lg_pg_row *", .size = 8, .give = give_row, .take = take_row, .row = layout};
    return type;
}
