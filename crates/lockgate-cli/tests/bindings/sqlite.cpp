// SQLite by its bindings: tables, statements, functions of the program's.
#include "check.hpp"
#include "sqlite.hpp"

using std::string_literals::operator""s;

int main()
{
    auto opened = sqlite::sqlite3_open(":memory:");
    CHECK(opened.result == SQLITE_OK);
    auto db = std::move(opened.ppDb).value();
    auto made = sqlite::sqlite3_exec(db, "create table t (n integer, s text, b blob)", nullptr);
    CHECK(made.result == SQLITE_OK && !made.errmsg);

    auto [status, prepared, tail] = sqlite::sqlite3_prepare_v2(db, "insert into t values (?, ?, ?); more"s);
    CHECK(status == SQLITE_OK && tail == 31u);
    auto insert = std::move(prepared).value();
    for (int n = 0; n < 10; n++) {
        CHECK(sqlite::sqlite3_bind_int(insert, 1, n) == SQLITE_OK);
        CHECK(sqlite::sqlite3_bind_text(insert, 2, "row " + std::to_string(n)) == SQLITE_OK);
        CHECK(sqlite::sqlite3_bind_blob(insert, 3, std::string(3, static_cast<char>(n))) == SQLITE_OK);
        CHECK(sqlite::sqlite3_step(insert) == SQLITE_DONE);
        CHECK(sqlite::sqlite3_reset(insert) == SQLITE_OK);
    }
    CHECK(sqlite::sqlite3_finalize(std::move(insert)) == SQLITE_OK);

    // A function of the program's, and a callback for rows.
    sqlite::sqlite3_create_function_xFunc twice([](auto &context, auto, auto values) {
        sqlite::sqlite3_result_int(context, sqlite::sqlite3_value_int(values[0]) * 2);
    });
    CHECK(sqlite::sqlite3_create_function(db, "double", 1, SQLITE_UTF8, twice, nullptr, nullptr) == SQLITE_OK);
    std::vector<std::string> rows;
    sqlite::sqlite3_exec_callback collect([&](int, auto values, auto names) {
        std::string row = names[0] + "=";
        for (auto &value : values)
            row += value.value_or(sqlite::text("", nullptr)) + ",";
        rows.push_back(row);
        return 0;
    });
    CHECK(sqlite::sqlite3_exec(db, "select double(n) as d, s from t where n in (3, 4)", collect).result == SQLITE_OK);
    CHECK((rows == std::vector<std::string>{"d=6,row 3,", "d=8,row 4,"}));

    auto selected = sqlite::sqlite3_prepare_v2(db, "select b from t where n = 7"s);
    auto select = std::move(selected.ppStmt).value();
    CHECK(sqlite::sqlite3_step(select) == SQLITE_ROW);
    CHECK(sqlite::sqlite3_column_blob(select, 0).value() == std::vector<unsigned char>(3, 7));
    CHECK(sqlite::sqlite3_column_name(select, 0) == "b");
    // The library's own handle is no second owner.
    CHECK(sqlite::sqlite3_db_handle(select));
    CHECK(sqlite::sqlite3_step(select) == SQLITE_DONE);

    auto wrong = sqlite::sqlite3_exec(db, "select nonsense", nullptr);
    CHECK(wrong.result == SQLITE_ERROR && wrong.errmsg == "no such column: nonsense");
    sqlite::sqlite3_free(*wrong.errmsg);
    CHECK(sqlite::sqlite3_finalize(std::move(select)) == SQLITE_OK);
    CHECK(sqlite::sqlite3_close(std::move(db)) == SQLITE_OK);
}
