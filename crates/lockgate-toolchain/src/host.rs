//! Programs that modules are made for, and what they offer to them.

use crate::Error;

/// A program with a fixed set of functions for its modules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// PostgreSQL: what `lockgate_pg.h` declares.
    Postgres,
}

impl Host {
    /// The one with this name: `postgres`.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is none.
    pub fn named(name: &str) -> Result<Host, Error> {
        match name {
            "postgres" => Ok(Host::Postgres),
            _ => Err(Error::Usage(format!("--for {name}: unknown; modules can be made for: postgres"))),
        }
    }

    /// Prototypes of the functions that it offers.
    pub fn gates(self) -> impl Iterator<Item = &'static str> {
        match self {
            Host::Postgres => prototypes(include_str!("../hosts/postgres.txt")),
        }
    }
}

/// The prototypes in a text: one per line; empty lines and those that begin with `#` or `//` are skipped.
pub(crate) fn prototypes(text: &str) -> impl Iterator<Item = &str> {
    let is_prototype = |line: &&str| !line.is_empty() && !line.starts_with('#') && !line.starts_with("//");
    text.lines().map(str::trim).filter(is_prototype)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_known_by_name() {
        assert!(Host::named("postgres").unwrap().gates().any(|gate| gate == "void lg_pg_return_null(void)"));
        assert!(matches!(Host::named("oracle"), Err(Error::Usage(why)) if why.contains("postgres")));
    }
}
