/* Modules: rows of lockgate.module, and what this backend has verified of them. */
#ifndef LOCKGATE_MODULES_H
#define LOCKGATE_MODULES_H

#include "postgres.h"

#include <lockgate.h>

#include "common/sha2.h"

/* Longest name of a module, bytes: ASCII's letters and digits, '_' and '-'. */
#define MODULE_NAME 63

typedef struct ModuleHash {
    uint8 bytes[PG_SHA256_DIGEST_LENGTH];
} ModuleHash;

/* Counts changes of modules, functions, row types and limits that this backend has heard of, from 1. What was made of them is good as long as this is
 * the same; then it has to be looked up again. */
extern uint32 modules_generation;

bool is_module_name(const char *name);

/* Listens for changes; for _PG_init. */
void modules_init(void);

/* The hash of the module with this name, as the database has it now, and whether the transaction in progress has put it there; false if there is none. */
bool module_find(const char *name, ModuleHash *hash, bool *is_uncommitted);

/* The module with this name and hash, verified: once for each in a backend. ERROR if that is not (or no longer) there. */
lg_module *module_open(const char *name, const ModuleHash *hash);

/* One more descriptor will be kept open that PostgreSQL would not know of otherwise, in whose stead idle domains and modules other than `except` may
 * go; ERROR if that does not help. ReleaseExternalFD() is the opposite. */
void modules_take_descriptor(const lg_module *except);

/* Keeps the module from being dropped or replaced until the transaction ends, if the current role may act for its owner: whose functions keep no
 * module (lockgate_drop_module), keeps no session waiting either. */
void module_lock(const char *name);

#endif
