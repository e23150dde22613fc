//! C signatures: parsed from prototypes (`lockgate-signature`), compared, and laid out by the System V ABI for x86-64.
mod abi;

pub use abi::{Place, Plan, Register};
pub(crate) use lockgate_signature::Asked;
pub use lockgate_signature::{Field, PrototypeError, Signature, Type, printable};

use std::fmt;

/// Two signatures of one procedure that differ.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Mismatch {
    /// What the module says.
    pub module: Signature,
    /// What the host asked for.
    pub host: Signature,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the signatures differ: the module has `{}`, the host asks for `{}`",
            self.module, self.host
        )?;
        let (module, host) = (&self.module, &self.host);
        if module.result != host.result {
            return write!(f, " (result: {} against {})", module.result, host.result);
        }
        if module.parameters.len() != host.parameters.len() {
            return write!(f, " ({} parameters against {})", module.parameters.len(), host.parameters.len());
        }
        for (number, (ours, theirs)) in module.parameters.iter().zip(&host.parameters).enumerate() {
            if ours != theirs {
                return write!(f, " (parameter {}: {ours} against {theirs})", number + 1);
            }
        }
        Ok(())
    }
}

/// Compares what the module says with what the host asks for; names do not count.
pub(crate) fn agree(module: &Signature, host: &Signature) -> Result<(), Box<Mismatch>> {
    if module.result == host.result && module.parameters == host.parameters {
        Ok(())
    } else {
        Err(Box::new(Mismatch {
            module: module.clone(),
            host: Signature { name: module.name.clone(), ..host.clone() },
        }))
    }
}
