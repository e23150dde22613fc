//! Where a module lies.
use super::Module;
use std::sync::Arc;

/// A module's image in a window.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    pub module: Arc<Module>,
    /// Window offset of its address 0.
    pub at: u64,
}

impl Placed {
    /// Window offset of an export.
    pub fn export(&self, name: &str) -> Option<u64> {
        self.module.export(name).map(|export| self.at + export.address)
    }

    /// Window offset of an exported object, and its size.
    pub fn object(&self, name: &str) -> Option<(u64, u64)> {
        let parsed = self.module.parsed();
        let at = parsed.data_symbols.binary_search_by(|(known, _, _)| known.as_str().cmp(name)).ok()?;
        let (_, address, size) = &parsed.data_symbols[at];
        let end = address.checked_add(*size)?;
        (end <= parsed.image_size).then_some((self.at + address, *size))
    }

    /// Whether it holds a window offset.
    pub fn holds(&self, offset: u64) -> bool {
        (self.at..self.end()).contains(&offset)
    }

    /// Window offset of one past it.
    pub fn end(&self) -> u64 {
        self.at + self.module.parsed().image_size
    }
}
