/* How SQLite's functions use what they are given: annotations for `lockgate stubs --partial sqlite3.h` (docs/stubs.md).
 *
 * The functions that programs use; what is neither here nor plain is left out: UTF-16, virtual tables, VFSs, sessions. */
#include "sqlite3.h"

LG_DOMAIN("sqlite", memory=512M, directory=.);
LG_ERRORS(int, SQLITE_ERROR);
LG_ERRORS(sqlite3_int64, 0);
LG_ERRORS(sqlite3_uint64, 0);
unsigned int sqlite3_value_subtype(sqlite3_value *value) LG_ERROR(0);

/* What is no code but a number, or an answer: SQLITE_ERROR is 1. */
int sqlite3_libversion_number(void) LG_ERROR(0);
const char *sqlite3_sourceid(void) LG_STRING;
int sqlite3_compileoption_used(const char *zOptName) LG_ERROR(0);
int sqlite3_threadsafe(void) LG_ERROR(0);
int sqlite3_changes(sqlite3 *db) LG_ERROR(0);
int sqlite3_total_changes(sqlite3 *db) LG_ERROR(0);
int sqlite3_complete(const char *sql) LG_ERROR(0);
int sqlite3_limit(sqlite3 *db, int id, int newVal) LG_ERROR(-1);
int sqlite3_stmt_readonly(sqlite3_stmt *pStmt) LG_ERROR(0);
int sqlite3_stmt_busy(sqlite3_stmt *pStmt) LG_ERROR(0);
int sqlite3_stmt_status(sqlite3_stmt *pStmt, int op, int resetFlg) LG_ERROR(0);
int sqlite3_bind_parameter_count(sqlite3_stmt *pStmt) LG_ERROR(0);
int sqlite3_bind_parameter_index(sqlite3_stmt *pStmt, const char *zName) LG_ERROR(0);
int sqlite3_column_count(sqlite3_stmt *pStmt) LG_ERROR(0);
int sqlite3_data_count(sqlite3_stmt *pStmt) LG_ERROR(0);
int sqlite3_column_int(sqlite3_stmt *pStmt, int iCol) LG_ERROR(0);
int sqlite3_column_bytes(sqlite3_stmt *pStmt, int iCol) LG_ERROR(0);
int sqlite3_column_bytes16(sqlite3_stmt *pStmt, int iCol) LG_ERROR(0);
int sqlite3_column_type(sqlite3_stmt *pStmt, int iCol) LG_ERROR(SQLITE_NULL);
int sqlite3_value_int(sqlite3_value *value) LG_ERROR(0);
int sqlite3_value_bytes(sqlite3_value *value) LG_ERROR(0);
int sqlite3_value_bytes16(sqlite3_value *value) LG_ERROR(0);
int sqlite3_value_type(sqlite3_value *value) LG_ERROR(SQLITE_NULL);
int sqlite3_value_numeric_type(sqlite3_value *value) LG_ERROR(SQLITE_NULL);
int sqlite3_get_autocommit(sqlite3 *db) LG_ERROR(0);
int sqlite3_db_readonly(sqlite3 *db, const char *zDbName) LG_ERROR(-1);
int sqlite3_release_memory(int n) LG_ERROR(0);
int sqlite3_sleep(int ms) LG_ERROR(0);
int sqlite3_blob_bytes(sqlite3_blob *blob) LG_ERROR(0);
int sqlite3_keyword_count(void) LG_ERROR(0);
int sqlite3_str_length(sqlite3_str *str) LG_ERROR(0);
int sqlite3_backup_remaining(sqlite3_backup *p) LG_ERROR(0);
int sqlite3_backup_pagecount(sqlite3_backup *p) LG_ERROR(0);
int sqlite3_system_errno(sqlite3 *db) LG_ERROR(0);
#if SQLITE_VERSION_NUMBER >= 3028000
int sqlite3_stmt_isexplain(sqlite3_stmt *pStmt) LG_ERROR(0);
int sqlite3_value_nochange(sqlite3_value *value) LG_ERROR(0);
int sqlite3_value_frombind(sqlite3_value *value) LG_ERROR(0);
#endif
#if SQLITE_VERSION_NUMBER >= 3034000
int sqlite3_txn_state(sqlite3 *db, const char *zSchema) LG_ERROR(-1);
#endif
#if SQLITE_VERSION_NUMBER >= 3038000
int sqlite3_error_offset(sqlite3 *db) LG_ERROR(-1);
#endif

int sqlite3_open(const char *filename, sqlite3 **ppDb LG_OUT);
int sqlite3_open_v2(const char *filename, sqlite3 **ppDb LG_OUT, int flags, const char *zVfs);
int sqlite3_close(sqlite3 *db LG_RELEASE);
int sqlite3_close_v2(sqlite3 *db LG_RELEASE);
int sqlite3_exec(sqlite3 *db, const char *sql,
                 int (*callback)(void *data, int columns, char **values LG_SIZE(columns) LG_NULLABLE, char **names LG_SIZE(columns)),
                 void *data LG_FOR_CALL, char **errmsg LG_OUT LG_STRING LG_FREED(sqlite3_free));
void sqlite3_free(void *memory LG_INSIDE);
sqlite3 *sqlite3_db_handle(sqlite3_stmt *stmt) LG_BORROWED;
sqlite3 *sqlite3_context_db_handle(sqlite3_context *context) LG_BORROWED;
sqlite3_stmt *sqlite3_next_stmt(sqlite3 *db, sqlite3_stmt *stmt) LG_BORROWED;
sqlite3_value *sqlite3_column_value(sqlite3_stmt *stmt, int column) LG_BORROWED;
int sqlite3_autovacuum_pages(sqlite3 *db, unsigned int (*pages)(void *data, const char *schema LG_STRING, unsigned int size, unsigned int free, unsigned int bytes),
                             void *data, void (*done)(void *data));
int sqlite3_busy_handler(sqlite3 *db, int (*handler)(void *data, int tries), void *data);
void sqlite3_progress_handler(sqlite3 *db, int steps, int (*handler)(void *data), void *data);
int sqlite3_set_authorizer(sqlite3 *db,
                           int (*xAuth)(void *data, int action, const char *a LG_NULLABLE, const char *b LG_NULLABLE,
                                        const char *c LG_NULLABLE, const char *d LG_NULLABLE), void *data);
void *sqlite3_commit_hook(sqlite3 *db, int (*hook)(void *data), void *data) LG_DATA;
void *sqlite3_rollback_hook(sqlite3 *db, void (*hook)(void *data), void *data) LG_DATA;
void *sqlite3_update_hook(sqlite3 *db, void (*hook)(void *data, int action, const char *database, const char *table LG_STRING, sqlite3_int64 row),
                          void *data) LG_DATA;

int sqlite3_prepare(sqlite3 *db, const char *zSql LG_IN LG_SIZE(nByte < 0 ? strlen(zSql) + 1 : nByte), int nByte,
                    sqlite3_stmt **ppStmt LG_OUT, const char **pzTail LG_OUT LG_WITHIN(zSql) LG_SIZE(nByte < 0));
int sqlite3_prepare_v2(sqlite3 *db, const char *zSql LG_IN LG_SIZE(nByte < 0 ? strlen(zSql) + 1 : nByte), int nByte,
                       sqlite3_stmt **ppStmt LG_OUT, const char **pzTail LG_OUT LG_WITHIN(zSql) LG_SIZE(nByte < 0));
int sqlite3_prepare_v3(sqlite3 *db, const char *zSql LG_IN LG_SIZE(nByte < 0 ? strlen(zSql) + 1 : nByte), int nByte,
                       unsigned int prepFlags, sqlite3_stmt **ppStmt LG_OUT, const char **pzTail LG_OUT LG_WITHIN(zSql) LG_SIZE(nByte < 0));
int sqlite3_finalize(sqlite3_stmt *pStmt LG_RELEASE);
char *sqlite3_expanded_sql(sqlite3_stmt *pStmt) LG_STRING LG_FREED(sqlite3_free);

/* Memory of the library's that is the program's, and text. */
void *sqlite3_malloc(int n) LG_OUT LG_SIZE(n < 0 ? 0 : n) LG_FREED(sqlite3_free);
void *sqlite3_malloc64(sqlite3_uint64 n) LG_OUT LG_SIZE(n) LG_FREED(sqlite3_free);
void *sqlite3_realloc(void *memory LG_INSIDE LG_RELEASE LG_SIZE(sqlite3_msize(memory)), int n) LG_SIZE(n < 0 ? 0 : n) LG_FREED(sqlite3_free);
void *sqlite3_realloc64(void *memory LG_INSIDE LG_RELEASE LG_SIZE(sqlite3_msize(memory)), sqlite3_uint64 n) LG_SIZE(n) LG_FREED(sqlite3_free);
sqlite3_uint64 sqlite3_msize(void *memory LG_INSIDE);
#define SQLITE_FORMAT(vf) LG_FORMAT(vf, "qQw", "z")
char *sqlite3_mprintf(const char *format, ...) LG_STRING LG_FREED(sqlite3_free) SQLITE_FORMAT(sqlite3_vmprintf);
char *sqlite3_vmprintf(const char *format, va_list list) LG_STRING LG_FREED(sqlite3_free) SQLITE_FORMAT(sqlite3_vmprintf);
/* With no room at all it writes nothing, and returns the buffer. */
#define SQLITE_TEXT(n) LG_OUT LG_STRING LG_SIZE(n < 0 ? 0 : n) LG_WRITTEN(n < 0 ? 0 : n)
char *sqlite3_snprintf(int n, char *buffer SQLITE_TEXT(n), const char *format, ...) LG_WITHIN(buffer) LG_SIZE(n > 0) SQLITE_FORMAT(sqlite3_vsnprintf);
char *sqlite3_vsnprintf(int n, char *buffer SQLITE_TEXT(n), const char *format, va_list list) LG_WITHIN(buffer) LG_SIZE(n > 0) SQLITE_FORMAT(sqlite3_vsnprintf);
void sqlite3_str_appendf(sqlite3_str *str, const char *format, ...) SQLITE_FORMAT(sqlite3_str_vappendf);
void sqlite3_str_vappendf(sqlite3_str *str, const char *format, va_list list) SQLITE_FORMAT(sqlite3_str_vappendf);
void sqlite3_str_append(sqlite3_str *str, const char *text LG_IN LG_SIZE(n), int n);
char *sqlite3_str_finish(sqlite3_str *str LG_RELEASE) LG_STRING LG_FREED(sqlite3_free);
int sqlite3_keyword_name(int number, const char **name LG_OUT LG_SIZE(*length), int *length LG_OUT);
int sqlite3_status64(int op, sqlite3_int64 *current LG_OUT, sqlite3_int64 *highest LG_OUT, int reset);
int sqlite3_trace_v2(sqlite3 *db, unsigned mask, int (*callback)(unsigned, void *, void *, void *), void *data)
    LG_OMIT("what the callback's parameters are depends on the event");

/* The library copies what it is given at once; the program's destructor is called here. */
int sqlite3_bind_blob(sqlite3_stmt *stmt, int index, const void *value LG_IN LG_SIZE(n), int n, void (*done)(void *) LG_DISPOSE(value, SQLITE_TRANSIENT));
int sqlite3_bind_blob64(sqlite3_stmt *stmt, int index, const void *value LG_IN LG_SIZE(n), sqlite3_uint64 n, void (*done)(void *) LG_DISPOSE(value, SQLITE_TRANSIENT));
int sqlite3_bind_text(sqlite3_stmt *stmt, int index, const char *value LG_IN LG_SIZE(n < 0 ? strlen(value) + 1 : n), int n, void (*done)(void *) LG_DISPOSE(value, SQLITE_TRANSIENT));
int sqlite3_bind_text64(sqlite3_stmt *stmt, int index, const char *value LG_IN LG_SIZE(n), sqlite3_uint64 n, void (*done)(void *) LG_DISPOSE(value, SQLITE_TRANSIENT), unsigned char encoding);
void sqlite3_result_blob(sqlite3_context *context, const void *value LG_IN LG_SIZE(n), int n, void (*done)(void *) LG_DISPOSE(value, SQLITE_TRANSIENT));
void sqlite3_result_blob64(sqlite3_context *context, const void *value LG_IN LG_SIZE(n), sqlite3_uint64 n, void (*done)(void *) LG_DISPOSE(value, SQLITE_TRANSIENT));
void sqlite3_result_text(sqlite3_context *context, const char *value LG_IN LG_SIZE(n < 0 ? strlen(value) + 1 : n), int n, void (*done)(void *) LG_DISPOSE(value, SQLITE_TRANSIENT));
void sqlite3_result_error(sqlite3_context *context, const char *message LG_IN LG_SIZE(n < 0 ? strlen(message) + 1 : n), int n);
void sqlite3_result_text64(sqlite3_context *context, const char *value LG_IN LG_SIZE(n), sqlite3_uint64 n, void (*done)(void *) LG_DISPOSE(value, SQLITE_TRANSIENT), unsigned char encoding);
int sqlite3_overload_function(sqlite3 *db, const char *zFuncName LG_STRING, int nArg);
/* More is behind a sqlite3_filename than the string: the library wants its own back. */
const char *sqlite3_uri_parameter(sqlite3_filename z LG_INSIDE, const char *zParam);
int sqlite3_uri_boolean(sqlite3_filename z LG_INSIDE, const char *zParam LG_STRING, int bDefault) LG_ERROR(0);
sqlite3_int64 sqlite3_uri_int64(sqlite3_filename z LG_INSIDE, const char *zParam LG_STRING, sqlite3_int64 bDefault);
const char *sqlite3_uri_key(sqlite3_filename z LG_INSIDE, int N);
const char *sqlite3_filename_database(sqlite3_filename z LG_INSIDE);
const char *sqlite3_filename_journal(sqlite3_filename z LG_INSIDE);
const char *sqlite3_filename_wal(sqlite3_filename z LG_INSIDE);
void sqlite3_free_filename(sqlite3_filename z) LG_OMIT("it ends what sqlite3_create_filename makes, which is left out");
/* The library casts it to another type before it calls it. */
int sqlite3_auto_extension(void (*xEntryPoint)(void)) LG_OMIT("what it takes is no void (*)(void): use sqlite3_create_function");
int sqlite3_cancel_auto_extension(void (*xEntryPoint)(void)) LG_OMIT("sqlite3_auto_extension is left out");
int sqlite3_keyword_check(const char *name LG_IN LG_SIZE(n), int n) LG_ERROR(0);
int sqlite3_strnicmp(const char *a LG_STRING LG_SIZE(n < 0 ? 0 : n), const char *b LG_STRING LG_SIZE(n < 0 ? 0 : n), int n);
int sqlite3_strlike(const char *zGlob LG_STRING, const char *zStr LG_STRING, unsigned int cEsc);
const unsigned char *sqlite3_column_text(sqlite3_stmt *stmt, int column) LG_STRING;
const unsigned char *sqlite3_value_text(sqlite3_value *value) LG_STRING;
const void *sqlite3_column_blob(sqlite3_stmt *stmt, int column) LG_SIZE(sqlite3_column_bytes(stmt, column));
const void *sqlite3_value_blob(sqlite3_value *value) LG_SIZE(sqlite3_value_bytes(value));
void sqlite3_value_free(sqlite3_value *value LG_RELEASE);

int sqlite3_create_function(sqlite3 *db, const char *zFunctionName LG_STRING, int nArg, int eTextRep, void *pApp LG_DATA,
                            void (*xFunc)(sqlite3_context *context, int n, sqlite3_value **values LG_SIZE(n)),
                            void (*xStep)(sqlite3_context *context, int n, sqlite3_value **values LG_SIZE(n)),
                            void (*xFinal)(sqlite3_context *context));
void *sqlite3_user_data(sqlite3_context *context) LG_DATA LG_GIVEN(sqlite3_create_function);
int sqlite3_create_collation(sqlite3 *db, const char *zName LG_STRING, int eTextRep, void *pArg,
                             int (*xCompare)(void *data, int m, const void *a LG_SIZE(m), int n, const void *b LG_SIZE(n)));

int sqlite3_blob_open(sqlite3 *db, const char *zDb, const char *zTable, const char *zColumn LG_STRING, sqlite3_int64 iRow, int flags,
                      sqlite3_blob **ppBlob LG_OUT);
int sqlite3_blob_close(sqlite3_blob *blob LG_RELEASE);
int sqlite3_blob_read(sqlite3_blob *blob, void *Z LG_OUT LG_SIZE(N) LG_WRITTEN(lg_result == 0 ? N : 0), int N, int iOffset);
int sqlite3_blob_write(sqlite3_blob *blob, const void *z LG_IN LG_SIZE(n), int n, int iOffset);
int sqlite3_backup_finish(sqlite3_backup *p LG_RELEASE);
int sqlite3_table_column_metadata(sqlite3 *db, const char *zDbName, const char *zTableName, const char *zColumnName,
                                  char const **pzDataType LG_OUT LG_STRING, char const **pzCollSeq LG_OUT LG_STRING,
                                  int *pNotNull LG_OUT, int *pPrimaryKey LG_OUT, int *pAutoinc LG_OUT);
int sqlite3_status(int op, int *pCurrent LG_OUT, int *pHighwater LG_OUT, int resetFlag);
int sqlite3_db_status(sqlite3 *db, int op, int *pCur LG_OUT, int *pHiwtr LG_OUT, int resetFlg);
int sqlite3_wal_checkpoint_v2(sqlite3 *db, const char *zDb LG_STRING, int eMode, int *pnLog LG_OUT, int *pnCkpt LG_OUT);
void sqlite3_randomness(int N, void *P LG_OUT LG_SIZE(N < 0 ? 0 : N) LG_WRITTEN(N < 0 ? 0 : N));
