#include "trigger.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tupconvert.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

/* lg_pg_trigger. */
typedef struct Description {
    Span name, schema, table;
    const void *old_row, *new_row;
    uint64 row_size;
    const Span *arguments;
    int32 count;
    int32 event, when, level;
} Description;

/* Events, times and levels in the order of their enumerations in lockgate_pg.h. */
static int32 event_of(TriggerEvent event) {
    return TRIGGER_FIRED_BY_INSERT(event) ? 0 : TRIGGER_FIRED_BY_UPDATE(event) ? 1 : TRIGGER_FIRED_BY_DELETE(event) ? 2 : 3;
}

static int32 when_of(TriggerEvent event) {
    return TRIGGER_FIRED_BEFORE(event) ? 0 : TRIGGER_FIRED_AFTER(event) ? 1 : 2;
}

static Span span(const char *string, Exchange *exchange) {
    Size size = strlen(string);
    return (Span){exchange_put(exchange, string, size), size};
}

/* The table of the trigger that a partition's is a copy of, or a copy of a copy; of one that is no copy its own. */
static Oid table_of(Oid trigger, Oid table) {
    Relation triggers = table_open(TriggerRelationId, AccessShareLock);
    while (OidIsValid(trigger)) {
        ScanKeyData key;
        ScanKeyInit(&key, Anum_pg_trigger_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(trigger));
        SysScanDesc scan = systable_beginscan(triggers, TriggerOidIndexId, true, NULL, 1, &key);
        HeapTuple row = systable_getnext(scan);
        trigger = InvalidOid;
        if (HeapTupleIsValid(row)) {
            table = ((Form_pg_trigger)GETSTRUCT(row))->tgrelid;
            trigger = ((Form_pg_trigger)GETSTRUCT(row))->tgparentid;
        }
        systable_endscan(scan);
    }
    table_close(triggers, AccessShareLock);
    return table;
}

static TriggerRows rows_of(const TriggerData *data) {
    Relation table = data->tg_relation;
    TriggerRows rows = {.trigger = data->tg_trigger->tgoid, .columns = CreateTupleDescCopyConstr(RelationGetDescr(table))};
    Oid own = RelationGetRelid(table), of = table->rd_rel->relispartition ? table_of(rows.trigger, own) : own;
    if (of != own) {
        Relation whole = table_open(of, AccessShareLock);
        rows.layout = row_layout_of_table(RelationGetDescr(whole));
        table_close(whole, AccessShareLock);
        rows.to_layout = convert_tuples_by_name(rows.columns, rows.layout->descriptor);
        rows.from_layout = convert_tuples_by_name(rows.layout->descriptor, rows.columns);
    }
    /* (If there is nothing to convert, then after the partition's columns: it alone knows what rows lack that are older than a column.) */
    if (!rows.to_layout || !rows.from_layout) {
        rows.layout = row_layout_of_table(rows.columns);
        rows.to_layout = rows.from_layout = NULL;
    }
    return rows;
}

static const void *row(const TriggerRows *rows, HeapTuple tuple, Exchange *exchange) {
    if (tuple && rows->to_layout)
        tuple = execute_attr_map_tuple(tuple, rows->to_layout);
    return tuple ? row_give(rows->layout, tuple, exchange) : NULL;
}

void trigger_give(FunctionCallInfo call, TriggerRows *rows, MemoryContext memory, Registers *registers, Exchange *exchange) {
    if (!CALLED_AS_TRIGGER(call))
        ereport(ERROR, errcode(ERRCODE_TRIGGERED_ACTION_EXCEPTION), errmsg("trigger functions can only be called as triggers"));
    TriggerData *data = (TriggerData *)call->context;
    Relation table = data->tg_relation;
    Trigger *trigger = data->tg_trigger;
    if (rows->trigger != trigger->tgoid) {
        MemoryContext before = MemoryContextSwitchTo(memory);
        *rows = rows_of(data);
        MemoryContextSwitchTo(before);
    }
    bool is_update = TRIGGER_FIRED_BY_UPDATE(data->tg_event), is_insert = TRIGGER_FIRED_BY_INSERT(data->tg_event);
    Description *description = exchange_room(exchange, sizeof *description);
    *description = (Description){
        .name = span(trigger->tgname, exchange),
        .schema = span(get_namespace_name(RelationGetNamespace(table)), exchange),
        .table = span(RelationGetRelationName(table), exchange),
        .old_row = is_insert ? NULL : row(rows, data->tg_trigtuple, exchange),
        .new_row = is_insert ? row(rows, data->tg_trigtuple, exchange) : is_update ? row(rows, data->tg_newtuple, exchange) : NULL,
        .row_size = rows->layout->size,
        .count = trigger->tgnargs,
        .event = event_of(data->tg_event),
        .when = when_of(data->tg_event),
        .level = TRIGGER_FIRED_FOR_STATEMENT(data->tg_event),
    };
    Span *arguments = exchange_room(exchange, trigger->tgnargs * sizeof(Span));
    for (int i = 0; i < trigger->tgnargs; i++)
        arguments[i] = span(trigger->tgargs[i], exchange);
    description->arguments = arguments;
    memset(registers->integers, 0, sizeof registers->integers);
    registers->integers[0] = (uint64)(uintptr_t)description;
}

/* The row with what the function has returned; columns that it did not see stay. */
static HeapTuple changed(const TriggerRows *rows, HeapTuple tuple, const void *row, Domain *domain) {
    const RowLayout *layout = rows->layout;
    Datum values[MOST_COLUMNS];
    bool nulls[MOST_COLUMNS];
    row_take(layout, row, domain, values, nulls);
    int count = rows->columns->natts;
    Datum *new_values = palloc0(count * sizeof(Datum));
    bool *new_nulls = palloc0(count * sizeof(bool)), *changes = palloc0(count * sizeof(bool));
    for (int i = 0; i < count; i++) {
        int from = rows->from_layout ? rows->from_layout->attrMap->attnums[i] - 1 : i;
        if (from < 0 || !layout->columns[from].type)
            continue;
        new_values[i] = values[from];
        new_nulls[i] = nulls[from];
        changes[i] = true;
    }
    return heap_modify_tuple(tuple, rows->columns, new_values, new_nulls, changes);
}

Datum trigger_take(FunctionCallInfo call, const TriggerRows *rows, const void *row, Domain *domain) {
    TriggerData *data = (TriggerData *)call->context;
    call->isnull = false;
    /* It is not looked at otherwise. */
    if (!TRIGGER_FIRED_FOR_ROW(data->tg_event) || TRIGGER_FIRED_AFTER(data->tg_event) || !row)
        return PointerGetDatum(NULL);
    if (TRIGGER_FIRED_BY_DELETE(data->tg_event))
        return PointerGetDatum(data->tg_trigtuple);
    HeapTuple tuple = TRIGGER_FIRED_BY_UPDATE(data->tg_event) ? data->tg_newtuple : data->tg_trigtuple;
    return PointerGetDatum(changed(rows, tuple, row, domain));
}
