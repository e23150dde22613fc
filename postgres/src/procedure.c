#include "procedure.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "endings.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "trigger.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

bool target_parse(const char *source, Target *target) {
    const char *dot = strchr(source, '.');
    if (!dot || dot == source || dot - source > MODULE_NAME || !dot[1] || strlen(dot + 1) >= sizeof target->function)
        return false;
    memcpy(target->module, source, dot - source);
    target->module[dot - source] = '\0';
    strcpy(target->function, dot + 1);
    for (const char *at = target->function; *at; at++)
        if ((unsigned char)*at <= ' ' || *at == 0x7f)
            return false;
    return is_module_name(target->module);
}

/* What stands in a row of pg_proc may be as long as a value can be, and of any role. */
#define LONGEST_SOURCE 4096

bool target_read(Datum source, Target *target, char **words) {
    *words = NULL;
    if (toast_raw_datum_size(source) > LONGEST_SOURCE)
        return false;
    *words = TextDatumGetCString(source);
    return target_parse(*words, target);
}

static const Type *argument(Oid oid, int *columns) {
    const Type *type = type_of(oid, columns);
    if (!type)
        ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("functions in language lgc cannot take type %s", format_type_be(oid)),
                errhint("lockgate_pg.h lists the types."));
    return type;
}

static const Type *result(Oid oid, int *columns) {
    const Type *type = oid == VOIDOID ? &type_void : type_of(oid, columns);
    /* (A domain's constraints would have to be checked at every call.) */
    if (!type || getBaseType(oid) != oid)
        ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                errmsg("functions in language lgc cannot return type %s", format_type_be(oid)), errhint("lockgate_pg.h lists the types."));
    return type;
}

/* The rows of a function that returns a set of values that are none. */
static RowLayout *one_column(Form_pg_proc form, int *columns) {
    result(form->prorettype, columns);
    TupleDesc one = CreateTemplateTupleDesc(1);
    TupleDescInitEntry(one, 1, NameStr(form->proname), form->prorettype, -1, 0);
    return row_layout(one, true, columns);
}

/* As modules' notes write it: "int32_t add(int32_t, int32_t)". */
static char *prototype(const Procedure *procedure) {
    StringInfoData text;
    initStringInfo(&text);
    const char *returned = procedure->result->c;
    appendStringInfo(&text, "%s%s%s(", returned, returned[strlen(returned) - 1] == '*' ? "" : " ", procedure->target.function);
    for (int i = 0; i < procedure->count; i++)
        appendStringInfo(&text, "%s%s", i ? ", " : "", procedure->arguments[i]->c);
    appendStringInfoString(&text, procedure->count ? ")" : "void)");
    return text.data;
}

Procedure *procedure_of(HeapTuple row, TupleDesc columns) {
    Form_pg_proc form = (Form_pg_proc)GETSTRUCT(row);
    if (form->prokind != PROKIND_FUNCTION)
        ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("only functions can be in language lgc"));
    bool is_null;
    Datum source = SysCacheGetAttr(PROCOID, row, Anum_pg_proc_prosrc, &is_null);
    char *words;
    Procedure *procedure = palloc0(sizeof *procedure);
    procedure->oid = form->oid;
    if (!target_read(source, &procedure->target, &words))
        ereport(ERROR, errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
                errmsg("\"%s\" names no function of a module", words ? shown(words) : "..."),
                errhint("In language lgc one string says both: AS 'module.function'."));
    procedure->is_volatile = form->provolatile == PROVOLATILE_VOLATILE;
    if (form->prorettype == TRIGGEROID) {
        procedure->is_trigger = true;
        procedure->result = &type_pointer;
        procedure->prototype = psprintf(TRIGGER_RESULT "%s(" TRIGGER_ARGUMENT ")", procedure->target.function);
        return procedure;
    }
    int left = MOST_NESTED_COLUMNS;
    procedure->count = form->pronargs;
    for (int i = 0; i < form->pronargs; i++)
        procedure->arguments[i] = argument(form->proargtypes.values[i], &left);
    for (int i = 0; i < form->pronargs; i++)
        procedure->has_state |= procedure->arguments[i] == &type_state;
    /* As the call says, or OUT parameters and RETURNS TABLE, or a row type. */
    if (!columns)
        columns = build_function_result_tupdesc_t(row);
    RowLayout *rows = columns ? row_layout(columns, true, &left)
                      : get_typtype(form->prorettype) == TYPTYPE_COMPOSITE ? row_layout_of(form->prorettype, true, &left) : NULL;
    bool is_row = rows || form->prorettype == RECORDOID;
    if (form->proretset) {
        procedure->set = rows ? rows : is_row ? NULL : one_column(form, &left);
        procedure->result = &type_void;
    } else {
        procedure->result = is_row ? row_type(form->prorettype, rows) : result(form->prorettype, &left);
    }
    procedure->has_state |= procedure->result == &type_state;
    procedure->prototype = prototype(procedure);
    return procedure;
}

/* The module's own prototype of the function; NULL if it has no such function, or does not say. */
static const char *noted(lg_module *module, const char *function, bool *exists) {
    size_t count = lg_module_export_count(module);
    for (size_t i = 0; i < count; i++)
        if (strcmp(lg_module_export_name(module, i), function) == 0) {
            *exists = true;
            return lg_module_export_prototype(module, i);
        }
    *exists = false;
    return NULL;
}

void procedure_check(const Procedure *procedure, lg_module *module) {
    const Target *target = &procedure->target;
    bool exists;
    const char *own = noted(module, target->function, &exists);
    if (!exists || strncmp(target->function, "_lg_", 4) == 0)
        ereport(ERROR, errcode(ERRCODE_UNDEFINED_FUNCTION), errmsg("module %s has no function %s", target->module, target->function),
                errhint("SELECT * FROM lockgate.module_functions('%s') lists what it has.", target->module));
    if (!own)
        ereport(ERROR, errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
                errmsg("module %s does not say what types %s has", target->module, target->function), errhint("Compile it with -g."));
    if (strcmp(own, procedure->prototype) != 0)
        ereport(ERROR, errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
                errmsg("function %s of module %s does not fit: it has other types", target->function, target->module),
                errdetail("The declaration in SQL needs: %s\nThe module has: %s", procedure->prototype, readable(own)));
}

bool target_exists(const Target *target, lg_module *module) {
    bool exists;
    noted(module, target->function, &exists);
    return exists;
}

bool procedure_fits(HeapTuple row, lg_module *module) {
    Procedure *procedure = procedure_of(row, NULL);
    bool exists;
    const char *own = noted(module, procedure->target.function, &exists);
    return own && strcmp(own, procedure->prototype) == 0;
}
