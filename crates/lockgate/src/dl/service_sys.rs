//! Functions of the host for libraries.
use super::DlError;
use crate::binding::within_registers;
use crate::host_function::HostFunction;
use crate::signature::{self, PrototypeError, Signature};

/// Larger results travel in memory, bytes (System V ABI for x86-64, 3.2.3).
const LARGEST_RESULT: usize = 16;

/// A function of the host that libraries call by name: Palladium's *application service*.
#[derive(Debug, Clone)]
pub struct Service {
    name: String,
    /// `None`: whatever the library's note says, or all registers.
    signature: Option<Signature>,
    function: usize,
    /// For the function: [`user_data`](crate::user_data).
    user: usize,
}

impl Service {
    /// A service by its C prototype, or by its name alone.
    ///
    /// By its name alone it gets its arguments as the library's import says, if that has a signature, and they travel in registers; else
    /// all argument registers as they are, and no stack arguments. A service that takes any on the stack has to be given its prototype.
    ///
    /// # Safety
    /// `function` is a C function of that type, which any thread may call, for as long as the process lives. What it gets is the
    /// library's word: any value is possible.
    ///
    /// # Errors
    /// [`DlError::Service`]: the prototype cannot be understood, or the result would be returned in memory where the library says.
    pub unsafe fn new(prototype: &str, function: *const (), user: usize) -> Result<Service, DlError> {
        let prototype = prototype.trim();
        let wrong = |what: String| DlError::Service(prototype.to_owned(), what);
        let is_name =
            !prototype.is_empty() && prototype.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if is_name {
            return Ok(Service {
                name: prototype.to_owned(),
                signature: None,
                function: function as usize,
                user,
            });
        }
        let signature: Signature = prototype.parse().map_err(|e: PrototypeError| wrong(e.to_string()))?;
        if signature.result.size() > LARGEST_RESULT {
            return Err(wrong(
                "a result in memory would go where the library chooses; return a pointer".to_owned(),
            ));
        }
        Ok(Service {
            name: signature.name.clone(),
            signature: Some(signature),
            function: function as usize,
            user,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The service as this import's answer.
    pub(super) fn answer(&self, noted: Option<&Signature>) -> Result<HostFunction, String> {
        if let (Some(own), Some(noted)) = (&self.signature, noted) {
            signature::agree(noted, own)
                .map_err(|mismatch| format!("service of another type: {mismatch}"))?;
        }
        let function = self.function as *const ();
        if let (None, Some(noted)) = (&self.signature, noted) {
            within_registers("the library", noted, "Service::new (lg_gate)")
                .map_err(|error| error.to_string())?;
        }
        match self.signature.as_ref().or(noted) {
            Some(signature) => {
                // SAFETY: what the service's maker promised. The library's note may say another type than the service has, which is
                // nothing but a library that calls it with other values.
                let made = unsafe { HostFunction::from_c(function, signature, self.user) };
                made.map_err(|error| error.what)
            }
            // SAFETY: as above.
            None => Ok(unsafe { HostFunction::without_signature(function, self.user) }),
        }
    }
}
