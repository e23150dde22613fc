//! Who asks the registry, and who may.
use crate::errors;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// A capability of 128 random bits.
#[pyclass(frozen, eq, module = "lockgate._native")]
#[derive(PartialEq)]
pub struct Token(lockgate::Token);

#[pymethods]
impl Token {
    #[new]
    #[pyo3(signature = (bits=None))]
    fn new(py: Python<'_>, bits: Option<&[u8]>) -> PyResult<Token> {
        let Some(bits) = bits else {
            return lockgate::Token::new().map(Token).map_err(|error| errors::call(py, error));
        };
        let wrong = |_| PyValueError::new_err(format!("a token has 16 bytes, not {}", bits.len()));
        Ok(Token(lockgate::Token::from_bytes(bits.try_into().map_err(wrong)?)))
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.to_bytes())
    }

    /// Reports do not tell secrets.
    fn __repr__(&self) -> &'static str {
        "lockgate.Token(…)"
    }
}

/// On whose behalf something is bound.
#[pyclass(frozen, module = "lockgate._native")]
pub struct Principal(lockgate::Principal);

impl Principal {
    pub fn inner(&self) -> &lockgate::Principal {
        &self.0
    }
}

#[pymethods]
impl Principal {
    /// A client who may bind only what is exported to everyone.
    #[staticmethod]
    fn nobody() -> Principal {
        Principal(lockgate::Principal::nobody())
    }

    /// The user and groups that the process runs as.
    #[staticmethod]
    fn process() -> Principal {
        Principal(lockgate::Principal::process())
    }

    /// A user, by number.
    #[staticmethod]
    fn user(user: u32) -> PyResult<Principal> {
        // The number that means "no particular user" to the kernel.
        if user == u32::MAX {
            return Err(PyValueError::new_err(format!("{user} is no user")));
        }
        Ok(Principal(lockgate::Principal::user(user)))
    }

    /// The domain called `name`.
    #[staticmethod]
    fn domain(name: &str) -> Principal {
        Principal(lockgate::Principal::domain(name))
    }

    /// The same, in these groups, too.
    #[pyo3(signature = (*groups))]
    fn in_group(&self, groups: Vec<u32>) -> Principal {
        Principal(groups.into_iter().fold(self.0.clone(), lockgate::Principal::in_group))
    }

    /// The same, with these tokens, too.
    #[pyo3(signature = (*tokens))]
    fn with_token(&self, tokens: Vec<Py<Token>>) -> Principal {
        Principal(tokens.iter().fold(self.0.clone(), |principal, token| principal.with(&token.get().0)))
    }

    fn __repr__(&self) -> String {
        format!("<lockgate.Principal: {}>", self.0)
    }
}

/// Who may bind an export.
#[pyclass(frozen, eq, module = "lockgate._native")]
#[derive(PartialEq)]
pub struct Allow(lockgate::Allow);

impl Allow {
    pub fn inner(&self) -> &lockgate::Allow {
        &self.0
    }
}

#[pymethods]
impl Allow {
    /// Every client.
    #[staticmethod]
    fn everyone() -> Allow {
        Allow(lockgate::Allow::Everyone)
    }

    /// A user, by number.
    #[staticmethod]
    fn user(user: u32) -> Allow {
        Allow(lockgate::Allow::User(user))
    }

    /// A group, by number.
    #[staticmethod]
    fn group(group: u32) -> Allow {
        Allow(lockgate::Allow::Group(group))
    }

    /// A domain, by name.
    #[staticmethod]
    fn domain(name: String) -> Allow {
        Allow(lockgate::Allow::Domain(name))
    }

    /// Holders of a token.
    #[staticmethod]
    fn token(token: &Bound<'_, Token>) -> Allow {
        Allow(lockgate::Allow::Token(token.get().0.clone()))
    }

    fn __repr__(&self) -> String {
        format!("<lockgate.Allow: {}>", self.0)
    }
}
