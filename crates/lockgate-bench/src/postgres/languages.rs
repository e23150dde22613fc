//! Languages beside each other: the same arithmetic in each.

use lockgate_postgres::Database;

/// A language, in a schema of its own.
pub struct Language {
    /// The schema.
    pub schema: &'static str,
    /// Rows of a statement: some tenths of a second.
    pub rows: u32,
    /// What makes language and function, if `bench/postgres/functions.sql` has not.
    make: Option<(&'static str, &'static str)>,
}

/// In the order of the table.
pub const LANGUAGES: &[Language] = &[
    Language { schema: "c", rows: 2_000_000, make: None },
    Language { schema: "lgc", rows: 2_000_000, make: None },
    Language { schema: "plpgsql", rows: 300_000, make: None },
    Language {
        schema: "plperl",
        rows: 300_000,
        make: Some((
            "CREATE EXTENSION plperl",
            "LANGUAGE plperl AS 'my $x = shift; for (1 .. 4) { $x = ($x * 1103 + 12345) % 65536; } return $x;'",
        )),
    },
    Language {
        schema: "plpython3",
        rows: 300_000,
        make: Some((
            "CREATE EXTENSION plpython3u",
            "LANGUAGE plpython3u AS E'x = y\\nfor i in range(4):\\n    x = (x * 1103 + 12345) % 65536\\nreturn x'",
        )),
    },
    Language { schema: "pipe", rows: 30_000, make: None },
];

impl Language {
    /// Makes the function, if need be; false if the machine has no such language.
    pub fn make(&self, database: &Database<'_>) -> anyhow::Result<bool> {
        let Some((language, body)) = self.make else { return Ok(true) };
        if database.run("postgres", language).is_err() {
            return Ok(false);
        }
        let schema = self.schema;
        let function = format!(
            "CREATE SCHEMA {schema}; CREATE FUNCTION {schema}.arithmetic(y bigint) RETURNS bigint IMMUTABLE STRICT {body}"
        );
        database.run("postgres", &function)?;
        Ok(true)
    }
}
