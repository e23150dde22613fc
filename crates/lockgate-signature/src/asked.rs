//! What callers ask for: a name or a prototype.
use crate::parse::PrototypeError;
use crate::types::Signature;

/// A function as its caller asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked<'a> {
    /// By its name alone, without white space around it: what it takes and returns, others say. (The name may be of no function.)
    Name(&'a str),
    /// By its prototype.
    Prototype(Signature),
}

impl Asked<'_> {
    /// Whether `text` is a prototype, which has a parenthesis, or a name.
    ///
    /// ```
    /// use lockgate_signature::Asked;
    ///
    /// assert_eq!(Asked::parse(" cbrt ")?, Asked::Name("cbrt"));
    /// assert_eq!(Asked::parse(" double cbrt(double);\n")?, Asked::Prototype("double cbrt(double)".parse()?));
    /// assert!(Asked::parse("cbrt(double)").is_err());
    /// # Ok::<(), lockgate_signature::PrototypeError>(())
    /// ```
    ///
    /// # Errors
    /// [`PrototypeError`]: a prototype that cannot be understood.
    pub fn parse(text: &str) -> Result<Asked<'_>, PrototypeError> {
        let text = text.trim();
        Ok(match text.contains('(') {
            true => Asked::Prototype(text.parse()?),
            false => Asked::Name(text),
        })
    }
}
