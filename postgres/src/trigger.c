#include "trigger.h"

#include "access/htup_details.h"
#include "commands/trigger.h"
#include "utils/builtins.h"
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

static const void *row(const TriggerRows *rows, HeapTuple tuple, Exchange *exchange) {
    return tuple ? row_give(rows->layout, tuple, exchange) : NULL;
}

void trigger_give(FunctionCallInfo call, TriggerRows *rows, MemoryContext memory, Registers *registers, Exchange *exchange) {
    if (!CALLED_AS_TRIGGER(call))
        ereport(ERROR, errcode(ERRCODE_TRIGGERED_ACTION_EXCEPTION), errmsg("trigger functions can only be called as triggers"));
    TriggerData *data = (TriggerData *)call->context;
    Relation table = data->tg_relation;
    if (rows->table != RelationGetRelid(table)) {
        MemoryContext before = MemoryContextSwitchTo(memory);
        *rows = (TriggerRows){RelationGetRelid(table), row_layout_of_table(RelationGetDescr(table))};
        MemoryContextSwitchTo(before);
    }
    Trigger *trigger = data->tg_trigger;
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

Datum trigger_take(FunctionCallInfo call, const TriggerRows *rows, const void *row, Domain *domain) {
    TriggerData *data = (TriggerData *)call->context;
    call->isnull = false;
    /* Nobody looks at it otherwise. */
    if (!TRIGGER_FIRED_FOR_ROW(data->tg_event) || TRIGGER_FIRED_AFTER(data->tg_event) || !row)
        return PointerGetDatum(NULL);
    if (TRIGGER_FIRED_BY_DELETE(data->tg_event))
        return PointerGetDatum(data->tg_trigtuple);
    HeapTuple tuple = TRIGGER_FIRED_BY_UPDATE(data->tg_event) ? data->tg_newtuple : data->tg_trigtuple;
    Datum values[MOST_COLUMNS];
    bool nulls[MOST_COLUMNS], changes[MOST_COLUMNS];
    row_take(rows->layout, row, domain, values, nulls);
    for (int i = 0; i < rows->layout->descriptor->natts; i++)
        changes[i] = rows->layout->columns[i].type != NULL;
    return PointerGetDatum(heap_modify_tuple(tuple, rows->layout->descriptor, values, nulls, changes));
}
