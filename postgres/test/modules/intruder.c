/* Its constructor runs while a call of another module is in progress, and asks for what is that call's. */
#include <lockgate_pg.h>

#include <stdlib.h>

static int32_t found = 100;

__attribute__((constructor)) static void intrude(void) {
    switch (INTRUSION) {
    case 0: lg_pg_return_null(); break;
    case 1: found = lg_pg_is_null(0); break;
    case 2: lg_pg_query("SELECT 'the intruder''s'", NULL, 0); break;
    case 3: { lg_pg_text value; found = lg_pg_value(0, 0, &value); break; }
    case 4: { struct { lg_pg_row row; int32_t value; } row = {{0}, 666}; lg_pg_emit(&row, sizeof row); break; }
    case 5: lg_pg_alloc(64); break;
    case 6: lg_pg_state_alloc(64); break;
    case 7: lg_pg_error("22023", "raised by a constructor");
    case 8: abort();
    case 9: for (;;) ;
    case 10: lg_pg_log(LG_PG_NOTICE, "said by a constructor"); break;
    }
}

int32_t what(void) { return found; }
