//! The proxies of all call ABIs, each made when it is first asked for; and how one is read.
use super::call_abi::CallAbi;
use super::code_sys::Code;
use super::emit;
use crate::host::{Short, locked};
use crate::symbols::perf_map;
use rustix::io::Errno;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// The code of a binding's proxy: what a call of it runs before and after the procedure.
#[derive(Debug, Clone, Copy)]
pub struct ProxyListing<'a> {
    /// Where it lies.
    pub address: u64,
    /// The instructions, and padding.
    pub bytes: &'a [u8],
    /// What the bytes from each offset on are for, in ascending order.
    pub parts: &'a [(usize, &'static str)],
    /// Offset of what runs after the procedure's return.
    pub leave: usize,
}

impl ProxyListing<'_> {
    /// What the instruction at an offset is for.
    pub fn part(&self, offset: usize) -> &'static str {
        self.parts.iter().rev().find(|(start, _)| *start <= offset).map_or("", |(_, name)| name)
    }
}

/// The code of a proxy, in the process's memory.
pub(crate) struct Proxy {
    /// Where calls begin.
    pub enter: usize,
    /// Where they go on after the procedure's return.
    pub leave: usize,
    code: Code,
    parts: Vec<(usize, &'static str)>,
}

impl Proxy {
    /// The proxy of `abi`: made when the call ABI is first asked for, and kept for good.
    ///
    /// # Errors
    /// The kernel's, if there is no memory for code.
    pub fn of(abi: CallAbi) -> Result<Arc<Proxy>, Errno> {
        /// Proxies are never changed and never go, so a forked child uses its parent's.
        static PROXIES: Mutex<Option<HashMap<CallAbi, Arc<Proxy>>>> = Mutex::new(None);
        let mut proxies = Short::new(|| locked(&PROXIES));
        let proxies = proxies.get_or_insert_default();
        if let Some(known) = proxies.get(&abi) {
            return Ok(known.clone());
        }
        let emitted = emit::proxy(&abi);
        let code = Code::at_line(&emitted.bytes)?;
        let leave = emitted.leave;
        perf_map::list(code.address(), leave, || format!("proxy in, {abi}"));
        perf_map::list(code.address() + leave, emitted.bytes.len().saturating_sub(leave), || {
            format!("proxy out, {abi}")
        });
        let proxy = Arc::new(Proxy {
            enter: code.address(),
            leave: code.address() + leave,
            code,
            parts: emitted.parts,
        });
        proxies.insert(abi, proxy.clone());
        Ok(proxy)
    }

    /// Its code, to be read.
    pub fn listing(&self) -> ProxyListing<'_> {
        let leave = self.leave - self.enter;
        ProxyListing { address: self.enter as u64, bytes: self.code.bytes(), parts: &self.parts, leave }
    }
}
