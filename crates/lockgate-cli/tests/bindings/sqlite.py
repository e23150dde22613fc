"""SQLite by its bindings: tables, statements, functions of the program's."""

import sqlite_protected as s

status, db = s.sqlite3_open(":memory:")
assert status == s.SQLITE_OK
with db:
    assert s.sqlite3_exec(db, "create table t (n integer, s text, b blob)", None) == (s.SQLITE_OK, None)
    status, insert, tail = s.sqlite3_prepare_v2(db, b"insert into t values (?, ?, ?); more")
    assert (status, tail) == (s.SQLITE_OK, 31)
    with insert:
        for n in range(10):
            assert s.sqlite3_bind_int(insert, 1, n) == s.SQLITE_OK
            assert s.sqlite3_bind_text(insert, 2, f"row {n}".encode()) == s.SQLITE_OK
            assert s.sqlite3_bind_blob(insert, 3, bytes([n] * 3)) == s.SQLITE_OK
            assert s.sqlite3_step(insert) == s.SQLITE_DONE
            assert s.sqlite3_reset(insert) == s.SQLITE_OK

    # A function of the program's, and a callback for rows.
    double = s.sqlite3_create_function_xFunc(lambda context, n, values: s.sqlite3_result_int(context, s.sqlite3_value_int(values[0]) * 2))
    assert s.sqlite3_create_function(db, "double", 1, s.SQLITE_UTF8, double, None, None) == s.SQLITE_OK
    rows = []

    def on_row(columns, values, names):
        rows.append((names[0], values))
        return 0

    assert s.sqlite3_exec(db, "select double(n) as d, s from t where n in (3, 4)", on_row)[0] == s.SQLITE_OK
    assert rows == [(b"d", [b"6", b"row 3"]), (b"d", [b"8", b"row 4"])], rows

    status, select, tail = s.sqlite3_prepare_v2(db, b"select b from t where n = 7")
    assert s.sqlite3_step(select) == s.SQLITE_ROW
    assert s.sqlite3_column_blob(select, 0) == b"\7\7\7"
    assert s.sqlite3_column_name(select, 0) == b"b"
    # The library's own handle is no second owner.
    s.sqlite3_db_handle(select).close()
    assert s.sqlite3_step(select) == s.SQLITE_DONE
    select.close()

    # An exception comes out of the call that the function was called in.
    refuses = s.sqlite3_create_function_xFunc(lambda context, n, values: 1 // 0)
    s.sqlite3_create_function(db, "refuses", 0, s.SQLITE_UTF8, refuses, None, None)
    try:
        s.sqlite3_exec(db, "select refuses()", None)
        raise AssertionError("it was refused")
    except ZeroDivisionError:
        pass

    status, error = s.sqlite3_exec(db, "select nonsense", None)
    assert (status, error) == (s.SQLITE_ERROR, b"no such column: nonsense"), (status, error)
    s.sqlite3_free(error)
