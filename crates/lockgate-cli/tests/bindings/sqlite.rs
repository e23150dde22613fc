//! SQLite by its bindings: tables, statements, functions of the program's.
use sqlite_protected::*;
use std::sync::{Arc, Mutex};

fn main() -> Result<(), Error> {
    let (status, db) = sqlite3_open(":memory:")?;
    let db = db.expect("a database");
    assert_eq!(status, SQLITE_OK);
    let (status, error) = sqlite3_exec(&db, "create table t (n integer, s text, b blob)", None)?;
    assert_eq!((status, error), (SQLITE_OK, None));

    let (status, insert, tail) = sqlite3_prepare_v2(&db, b"insert into t values (?, ?, ?); more")?;
    let insert = insert.expect("a statement");
    assert_eq!((status, tail), (SQLITE_OK, Some(31)));
    for n in 0..10 {
        assert_eq!(sqlite3_bind_int(&insert, 1, n)?, SQLITE_OK);
        assert_eq!(sqlite3_bind_text(&insert, 2, format!("row {n}").as_bytes())?, SQLITE_OK);
        assert_eq!(sqlite3_bind_blob(&insert, 3, &[n as u8; 3])?, SQLITE_OK);
        assert_eq!(sqlite3_step(&insert)?, SQLITE_DONE);
        assert_eq!(sqlite3_reset(&insert)?, SQLITE_OK);
    }
    assert_eq!(sqlite3_finalize(insert)?, SQLITE_OK);

    // A function of the program's, and a callback for rows.
    let double = Sqlite3CreateFunctionXFunc::new(|context, _, values| {
        let value = sqlite3_value_int(&values[0]).expect("a value");
        sqlite3_result_int(context, value * 2).expect("a result");
    })?;
    assert_eq!(sqlite3_create_function(&db, "double", 1, SQLITE_UTF8, &double, None, None)?, SQLITE_OK);
    let rows = Arc::new(Mutex::new(Vec::new()));
    let collect = rows.clone();
    let callback = Sqlite3ExecCallback::new(move |_, values, names| {
        let values: Vec<_> = values.iter().flatten().map(|text| text.to_string_lossy().into_owned()).collect();
        collect.lock().unwrap().push(format!("{}={}", names[0].to_string_lossy(), values.join(",")));
        0
    })?;
    let (status, _) = sqlite3_exec(&db, "select double(n) as d, s from t where n in (3, 4)", &callback)?;
    assert_eq!(status, SQLITE_OK);
    assert_eq!(*rows.lock().unwrap(), ["d=6,row 3", "d=8,row 4"]);

    let (_, select, _) = sqlite3_prepare_v2(&db, b"select b from t where n = 7")?;
    let select = select.expect("a statement");
    assert_eq!(sqlite3_step(&select)?, SQLITE_ROW);
    assert_eq!(*sqlite3_column_blob(&select, 0)?.expect("a blob"), [7, 7, 7]);
    assert_eq!(sqlite3_column_name(&select, 0)?.as_deref(), Some(c"b"));
    // The library's own handle is no second owner.
    drop(sqlite3_db_handle(&select)?);
    assert_eq!(sqlite3_step(&select)?, SQLITE_DONE);

    let (status, error) = sqlite3_exec(&db, "select nonsense", None)?;
    let error = error.expect("a message");
    assert_eq!((status, error.to_str()), (SQLITE_ERROR, Ok("no such column: nonsense")));
    sqlite3_free(&error)?;
    drop(select);
    assert_eq!(sqlite3_close(db)?, SQLITE_OK);
    Ok(())
}
