#include "modules.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/skey.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_proc.h"
#include "commands/proclang.h"
#include "commands/trigger.h"
#include "common/hashfn.h"
#include "domains.h"
#include "endings.h"
#include "fmgr.h"
#include "funcapi.h"
#include "gates.h"
#include "miscadmin.h"
#include "procedure.h"
#include "storage/fd.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "version.h"

/* Columns of lockgate.module. */
enum { NAME = 1, OWNER, HASH, INSTALLED, IMAGE, COLUMNS = IMAGE };

PG_FUNCTION_INFO_V1(lockgate_install_module);
PG_FUNCTION_INFO_V1(lockgate_drop_module);
PG_FUNCTION_INFO_V1(lockgate_module_functions);
PG_FUNCTION_INFO_V1(lockgate_module_changed);
PG_FUNCTION_INFO_V1(lockgate_owner_in);
PG_FUNCTION_INFO_V1(lockgate_owner_out);

uint32 modules_generation = 1;

/* Modules that this backend has verified, the newest first: sessions come back to them. Domains do not need these handles. */
#define MOST_VERIFIED 64

typedef struct Verified {
    struct Verified *next;
    ModuleHash hash;
    lg_module *module;
} Verified;

static Verified *verified = NULL;

/* ---- The table ---- */

/* Whether the table is the extension's own: who owns the schema, and need not be a superuser, may have put another in its place, whose columns are
 * not what is read here. */
static bool is_ours(Relation table) {
    static const Oid types[COLUMNS] = {TEXTOID, InvalidOid, BYTEAOID, TIMESTAMPTZOID, BYTEAOID};
    TupleDesc descriptor = RelationGetDescr(table);
    if (table->rd_rel->relkind != RELKIND_RELATION || !superuser_arg(table->rd_rel->relowner) || descriptor->natts != COLUMNS)
        return false;
    for (int i = 0; i < COLUMNS; i++)
        if (OidIsValid(types[i]) && TupleDescAttr(descriptor, i)->atttypid != types[i])
            return false;
    /* (Types of the extension have other numbers in each database.) */
    Form_pg_attribute owner = TupleDescAttr(descriptor, OWNER - 1);
    return owner->attbyval && owner->attlen == sizeof(Oid);
}

static Relation open_table(LOCKMODE mode) {
    Oid oid = get_relname_relid("module", get_namespace_oid("lockgate", false));
    Relation table = OidIsValid(oid) ? table_open(oid, mode) : NULL;
    if (!table || !is_ours(table))
        ereport(ERROR, errcode(ERRCODE_UNDEFINED_TABLE), errmsg("lockgate.module is not the table of the extension"),
                errhint("Create the extension: CREATE EXTENSION lockgate."));
    return table;
}

/* A session has changed a table, or (0) perhaps all of them: the modules', or a row type that a function takes. */
static void on_relation(Datum unused, Oid table) {
    modules_generation++;
}

/* A function is another one. */
static void on_procedure(Datum unused, int cache, uint32 hash) {
    modules_generation++;
}

void modules_init(void) {
    CacheRegisterRelcacheCallback(on_relation, (Datum)0);
    CacheRegisterSyscacheCallback(PROCOID, on_procedure, (Datum)0);
}

/* The index to look names up in: the primary key, if it is one of names. A superuser may have dropped it, or made others. */
static Oid index_of_names(Relation table) {
    Oid oid = primary_key_of(table);
    if (!OidIsValid(oid))
        return InvalidOid;
    Relation index = index_open(oid, AccessShareLock);
    bool is_good = index->rd_index->indnatts == 1 && index->rd_index->indkey.values[0] == NAME && index->rd_indcollation[0] == C_COLLATION_OID;
    index_close(index, AccessShareLock);
    return is_good ? oid : InvalidOid;
}

/* A scan for the module with this name. */
static SysScanDesc scan_for(Relation table, const char *name, ScanKeyData *key) {
    ScanKeyInit(key, NAME, BTEqualStrategyNumber, F_TEXTEQ, CStringGetTextDatum(name));
    key->sk_collation = C_COLLATION_OID;
    Oid index = index_of_names(table);
    return systable_beginscan(table, index, OidIsValid(index), NULL, 1, key);
}

/* (That nothing is null is a constraint of the table's, which a superuser can drop.) */
static Datum column(HeapTuple row, Relation table, int number) {
    bool is_null;
    Datum value = heap_getattr(row, number, RelationGetDescr(table), &is_null);
    if (is_null)
        ereport(ERROR, errcode(ERRCODE_DATA_CORRUPTED),
                errmsg("table lockgate.module is damaged: no %s in a row", NameStr(TupleDescAttr(RelationGetDescr(table), number - 1)->attname)));
    return value;
}

static void read_hash(HeapTuple row, Relation table, ModuleHash *hash) {
    bytea *bytes = DatumGetByteaPP(column(row, table, HASH));
    if (VARSIZE_ANY_EXHDR(bytes) != sizeof *hash)
        ereport(ERROR, errcode(ERRCODE_DATA_CORRUPTED), errmsg("table lockgate.module is damaged: a hash of the wrong size"));
    memcpy(hash, VARDATA_ANY(bytes), sizeof *hash);
}

bool module_find(const char *name, ModuleHash *hash, bool *is_uncommitted) {
    Relation table = open_table(AccessShareLock);
    ScanKeyData key;
    SysScanDesc scan = scan_for(table, name, &key);
    HeapTuple row = systable_getnext(scan);
    if (HeapTupleIsValid(row)) {
        read_hash(row, table, hash);
        *is_uncommitted = TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(row->t_data));
    }
    systable_endscan(scan);
    table_close(table, AccessShareLock);
    return HeapTupleIsValid(row);
}

/* Locks a name until the transaction ends: what is being made for the module, against its replacement. (Names that share a number wait for each other.) */
static void lock_name(Relation table, const char *name, LOCKMODE mode) {
    uint32 number = DatumGetUInt32(hash_any((const unsigned char *)name, (int)strlen(name)));
    LockDatabaseObject(RelationGetRelid(table), number, 0, mode);
}

void module_lock(const char *name) {
    Relation table = open_table(AccessShareLock);
    ScanKeyData key;
    SysScanDesc scan = scan_for(table, name, &key);
    HeapTuple row = systable_getnext(scan);
    /* (By the role that would hold the lock, not by the function's owner: any role can have functions of others looked at.) */
    bool keeps = HeapTupleIsValid(row) && has_privs_of_role(GetUserId(), DatumGetObjectId(column(row, table, OWNER)));
    systable_endscan(scan);
    if (keeps)
        lock_name(table, name, ShareLock);
    table_close(table, AccessShareLock);
}

/* ---- Verifying ---- */

static ModuleHash hash_of(bytea *image) {
    bytea *hash = DatumGetByteaPP(DirectFunctionCall1(sha256_bytea, PointerGetDatum(image)));
    ModuleHash copy;
    memcpy(&copy, VARDATA_ANY(hash), sizeof copy);
    return copy;
}

static lg_module *remembered(const ModuleHash *hash) {
    for (Verified *one = verified; one; one = one->next)
        if (memcmp(&one->hash, hash, sizeof *hash) == 0)
            return one->module;
    return NULL;
}

/* Forgets the oldest module but `except`, if there are more than `most`. */
static bool forget_oldest(int most, const lg_module *except) {
    int count = 0;
    Verified **oldest = NULL;
    for (Verified **at = &verified; *at; at = &(*at)->next, count++)
        if ((*at)->module != except)
            oldest = at;
    if (count <= most || !oldest)
        return false;
    Verified *gone = *oldest;
    *oldest = gone->next;
    lg_module_free(gone->module);
    pfree(gone);
    ReleaseExternalFD();
    return true;
}

void modules_take_descriptor(const lg_module *except) {
    while (!AcquireExternalFD())
        if (!domains_give_up_idle() && !forget_oldest(0, except))
            ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_RESOURCES), errmsg("too many files are open in this session for one more module"),
                    errhint("max_files_per_process says how many there may be."));
}

/* Verifies the module, unless that was done before. */
static lg_module *verify(const char *name, bytea *image) {
    ModuleHash hash = hash_of(image);
    lg_module *module = remembered(&hash);
    if (module)
        return module;
    modules_take_descriptor(NULL);
    module = lg_module_from_bytes(VARDATA_ANY(image), VARSIZE_ANY_EXHDR(image));
    if (!module) {
        ReleaseExternalFD();
        ereport(ERROR, errcode(ERRCODE_INVALID_BINARY_REPRESENTATION), errmsg("module %s is refused: %s", name, readable(lg_last_message())),
                errhint("Modules are made by: lockgate cc -g -O2 --for postgres %s.c -o %s.lg", name, name));
    }
    Verified *one = MemoryContextAlloc(TopMemoryContext, sizeof *one);
    *one = (Verified){verified, hash, module};
    verified = one;
    forget_oldest(MOST_VERIFIED, module);
    return module;
}

lg_module *module_open(const char *name, const ModuleHash *hash) {
    lg_module *module = remembered(hash);
    if (module)
        return module;
    Relation table = open_table(AccessShareLock);
    ScanKeyData key;
    SysScanDesc scan = scan_for(table, name, &key);
    HeapTuple row = systable_getnext(scan);
    if (!HeapTupleIsValid(row))
        ereport(ERROR, errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("there is no module %s any more", name));
    bytea *image = DatumGetByteaPP(column(row, table, IMAGE));
    module = verify(name, image);
    if (remembered(hash) != module)
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("module %s has been replaced meanwhile", name),
                errdetail("The table has another image than the one whose hash was asked for."));
    systable_endscan(scan);
    table_close(table, AccessShareLock);
    return module;
}

/* ---- Functions of SQL ---- */

bool is_module_name(const char *name) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    Size length = strlen(name);
    return length > 0 && length <= MODULE_NAME && strspn(name, letters) == length;
}

static void check_name(const char *name) {
    if (!is_module_name(name))
        ereport(ERROR, errcode(ERRCODE_INVALID_NAME), errmsg("\"%s\" is no name of a module", shown(name)),
                errhint("Up to %d letters of ASCII, digits, '_' and '-'.", MODULE_NAME));
}

/* Who may change a module that is there: its owner, the database's, a superuser. */
static void check_owner(HeapTuple row, Relation table, const char *name) {
    Oid owner = DatumGetObjectId(column(row, table, OWNER));
    if (!has_privs_of_role(GetUserId(), owner) && !has_privs_of_role(GetUserId(), ROLE_PG_DATABASE_OWNER))
        ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("must be owner of module %s", name));
}

/* How a function gets on with a module. */
typedef enum Fit { FITS, FITS_NOT, WORKS_WITH_NONE } Fit;

/* Whether the error is none of what was looked at: a cancel, a shutdown. */
static bool is_of_the_session(const ErrorData *error) {
    return ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_TO_CATEGORY(ERRCODE_OPERATOR_INTERVENTION);
}

/* In a subtransaction: another role may have changed a row type that the function takes, so that looking at it fails, in any way. */
static Fit fit_of(HeapTuple row, lg_module *module) {
    MemoryContext memory = CurrentMemoryContext;
    ResourceOwner resources = CurrentResourceOwner;
    volatile Fit fit = WORKS_WITH_NONE;
    BeginInternalSubTransaction(NULL);
    MemoryContextSwitchTo(memory);
    PG_TRY();
    {
        fit = procedure_fits(row, module) ? FITS : FITS_NOT;
        ReleaseCurrentSubTransaction();
    }
    PG_CATCH();
    {
        MemoryContextSwitchTo(memory);
        ErrorData *error = CopyErrorData();
        FlushErrorState();
        RollbackAndReleaseCurrentSubTransaction();
        CurrentResourceOwner = resources;
        if (is_of_the_session(error))
            ReThrowError(error);
        FreeErrorData(error);
    }
    PG_END_TRY();
    MemoryContextSwitchTo(memory);
    CurrentResourceOwner = resources;
    return fit;
}

/* Functions in language lgc of a module that do not fit the one that takes its place, or, if none does, any; one a line, "" if there are none. */
typedef struct Users {
    StringInfoData owners;  /* of roles that may act for the module's owner: they keep it */
    StringInfoData others;  /* of others, some of them: they fail from then on, as any role can make them */
    int count;              /* of others */
} Users;

#define MOST_OTHERS 20

static void add_user(Users *users, bool keeps, Oid function) {
    StringInfo list = keeps ? &users->owners : &users->others;
    if (keeps || users->count++ < MOST_OTHERS)
        appendStringInfo(list, "%sfunction %s", list->len ? "\n" : "", format_procedure(function));
}

/* One function in language lgc, if it is of the module. */
static void look_at_user(Users *users, HeapTuple row, Datum source, const char *name, Oid owner, lg_module *unless_fits) {
    Form_pg_proc function = (Form_pg_proc)GETSTRUCT(row);
    Target target;
    char *words;
    if (!target_read(source, &target, &words) || strcmp(target.module, name) != 0)
        return;
    bool keeps = has_privs_of_role(function->proowner, owner);
    /* (Of others' functions the name alone is looked at: any role can make them, and the types that they take.) */
    if (unless_fits && (keeps ? fit_of(row, unless_fits) != FITS_NOT : target_exists(&target, unless_fits)))
        return;
    add_user(users, keeps, function->oid);
}

static Users users_of(const char *name, Oid owner, lg_module *unless_fits) {
    Users users = {.count = 0};
    initStringInfo(&users.owners);
    initStringInfo(&users.others);
    Oid language = get_language_oid("lgc", false);
    Relation procedures = table_open(ProcedureRelationId, AccessShareLock);
    SysScanDesc scan = systable_beginscan(procedures, InvalidOid, false, NULL, 0, NULL);
    HeapTuple row;
    /* What is made of one function goes before the next one. */
    MemoryContext one = AllocSetContextCreate(CurrentMemoryContext, "lockgate user", ALLOCSET_DEFAULT_SIZES);
    while (HeapTupleIsValid(row = systable_getnext(scan))) {
        CHECK_FOR_INTERRUPTS();
        if (((Form_pg_proc)GETSTRUCT(row))->prolang != language)
            continue;
        bool is_null;
        Datum source = heap_getattr(row, Anum_pg_proc_prosrc, RelationGetDescr(procedures), &is_null);
        MemoryContext before = MemoryContextSwitchTo(one);
        if (!is_null)
            look_at_user(&users, row, source, name, owner, unless_fits);
        MemoryContextSwitchTo(before);
        MemoryContextReset(one);
    }
    MemoryContextDelete(one);
    systable_endscan(scan);
    table_close(procedures, AccessShareLock);
    return users;
}

/* Says whose functions fail from now on. */
static void warn_of(const Users *users, const char *what, const char *name) {
    if (users->count)
        ereport(WARNING, errmsg_plural("module %s is %s, and %d function of another role does not work any more",
                                       "module %s is %s, and %d functions of other roles do not work any more", users->count, name, what, users->count),
                errdetail("%s%s", users->others.data, users->count > MOST_OTHERS ? "\n..." : ""));
}

/* A module that is about to change: nothing else changes it before the transaction ends. */
typedef struct Changing {
    Relation table;
    ScanKeyData key;
    SysScanDesc scan;
    HeapTuple row; /* or none */
} Changing;

static void begin_change(Changing *of, const char *name) {
    of->table = open_table(RowExclusiveLock);
    lock_name(of->table, name, ExclusiveLock);
    of->scan = scan_for(of->table, name, &of->key);
    of->row = systable_getnext(of->scan);
}

/* (Sessions hear of it.) */
static void end_change(Changing *of) {
    systable_endscan(of->scan);
    CacheInvalidateRelcache(of->table);
    table_close(of->table, NoLock);
    CommandCounterIncrement();
}

Datum lockgate_install_module(PG_FUNCTION_ARGS) {
    char *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
    bytea *image = PG_GETARG_BYTEA_PP(1);
    bool replace = PG_GETARG_BOOL(2);
    PreventCommandIfReadOnly("lockgate.install_module()");
    check_name(name);
    lg_module *module = verify(name, image);
    gates_check(name, module);

    Datum hash = DirectFunctionCall1(sha256_bytea, PointerGetDatum(image));
    Datum values[COLUMNS] = {CStringGetTextDatum(name), ObjectIdGetDatum(GetUserId()), hash, TimestampTzGetDatum(GetCurrentTimestamp()),
                             PointerGetDatum(image)};
    bool nulls[COLUMNS] = {false};

    Changing change;
    begin_change(&change, name);
    Relation table = change.table;
    HeapTuple old = change.row;
    if (!HeapTupleIsValid(old)) {
        CatalogTupleInsert(table, heap_form_tuple(RelationGetDescr(table), values, nulls));
    } else {
        if (!replace)
            ereport(ERROR, errcode(ERRCODE_DUPLICATE_OBJECT), errmsg("module %s exists already", name),
                    errhint("Replace it: lockgate.install_module('%s', ..., replace => true).", name));
        check_owner(old, table, name);
        Users unfit = users_of(name, DatumGetObjectId(column(old, table, OWNER)), module);
        if (unfit.owners.len)
            ereport(ERROR, errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
                    errmsg("module %s cannot be replaced: functions do not fit the new one", name), errdetail("%s", unfit.owners.data),
                    errhint("Drop them first, or install the module under another name."));
        warn_of(&unfit, "replaced", name);
        values[OWNER - 1] = column(old, table, OWNER);
        HeapTuple row = heap_form_tuple(RelationGetDescr(table), values, nulls);
        CatalogTupleUpdate(table, &old->t_self, row);
    }
    end_change(&change);
    PG_RETURN_VOID();
}

Datum lockgate_drop_module(PG_FUNCTION_ARGS) {
    char *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
    PreventCommandIfReadOnly("lockgate.drop_module()");
    check_name(name);
    Changing change;
    begin_change(&change, name);
    Relation table = change.table;
    HeapTuple row = change.row;
    if (!HeapTupleIsValid(row))
        ereport(ERROR, errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("there is no module %s", name));
    check_owner(row, table, name);
    Users users = users_of(name, DatumGetObjectId(column(row, table, OWNER)), NULL);
    if (users.owners.len)
        ereport(ERROR, errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
                errmsg("module %s cannot be dropped because functions use it", name), errdetail("%s", users.owners.data),
                errhint("Drop these functions first."));
    warn_of(&users, "dropped", name);
    CatalogTupleDelete(table, &row->t_self);
    end_change(&change);
    PG_RETURN_VOID();
}

Datum lockgate_module_functions(PG_FUNCTION_ARGS) {
    char *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
    check_name(name);
    ModuleHash hash;
    bool is_uncommitted;
    if (!module_find(name, &hash, &is_uncommitted))
        ereport(ERROR, errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("there is no module %s", name));
    lg_module *module = module_open(name, &hash);
    TupleDesc columns;
    get_call_result_type(fcinfo, NULL, &columns);
    Tuplestorestate *rows = rows_begin(fcinfo, columns);
    size_t count = lg_module_export_count(module);
    for (size_t i = 0; i < count; i++) {
        const char *function = lg_module_export_name(module, i);
        const char *prototype = lg_module_export_prototype(module, i);
        if (!prototype || strncmp(function, "_lg_", 4) == 0)
            continue;
        Datum values[] = {CStringGetTextDatum(readable(function)), CStringGetTextDatum(readable(prototype))};
        bool nulls[] = {false, false};
        tuplestore_putvalues(rows, columns, values, nulls);
    }
    return (Datum)0;
}

/* An owner's name; none of a role that was dropped. */
#define NO_OWNER "-"

Datum lockgate_owner_out(PG_FUNCTION_ARGS) {
    char *name = GetUserNameFromId(PG_GETARG_OID(0), true);
    PG_RETURN_CSTRING(name ? pstrdup(quote_identifier(name)) : pstrdup(NO_OWNER));
}

/* In a dump that is restored where there is no such role, a module goes to the role that restores it. */
Datum lockgate_owner_in(PG_FUNCTION_ARGS) {
    char *string = PG_GETARG_CSTRING(0);
    List *names = strcmp(string, NO_OWNER) == 0 ? NIL : names_in(string);
    Oid role = list_length(names) == 1 ? get_role_oid(strVal(linitial(names)), true) : InvalidOid;
    if (!OidIsValid(role)) {
        role = GetUserId();
        ereport(NOTICE, errcode(ERRCODE_UNDEFINED_OBJECT),
                errmsg("there is no role %s: the owner is %s", shown(string), GetUserNameFromId(role, false)));
    }
    PG_RETURN_OID(role);
}

/* A trigger of the table, for those that write it themselves: replication, a dump that is restored. */
Datum lockgate_module_changed(PG_FUNCTION_ARGS) {
    if (!CALLED_AS_TRIGGER(fcinfo))
        ereport(ERROR, errcode(ERRCODE_TRIGGERED_ACTION_EXCEPTION), errmsg("module_changed() is for triggers"));
    CacheInvalidateRelcache(((TriggerData *)fcinfo->context)->tg_relation);
    return PointerGetDatum(NULL);
}
