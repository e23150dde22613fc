//! Section "Options" of the header.
use crate::call::{freed, guarded, value};
use crate::error::{Failure, Status};
use crate::handle::{Handle, Handled};
use crate::host_function_sys::{Code, host_function};
use crate::policy::policy;
use crate::text_sys::{borrow, bytes, slice, text};
use lockgate::syscall::{Access, Grants};
use lockgate::{DomainOptions, Policy};
use lockgate_kernel::locked;
use std::ffi::{c_char, c_int, c_void};
use std::sync::Mutex;
use std::time::Duration;

/// What `lg_options` stands for.
#[derive(Default)]
pub struct OptionsObject {
    state: Mutex<State>,
}

#[derive(Default, Clone)]
struct State {
    options: DomainOptions,
    grants: Grants,
}

impl Handled for OptionsObject {
    const WHAT: &'static str = "options";
}

impl Handle<OptionsObject> {
    /// The options as they are now; the defaults if there are none.
    pub(crate) fn options(self) -> Result<DomainOptions, Failure> {
        if self.is_null() {
            return Ok(DomainOptions::new());
        }
        let object = self.get()?;
        let _still = lockgate::still();
        let State { options, grants } = locked(&object.state).clone();
        Ok(options.grants(grants))
    }

    pub(crate) fn change(self, change: impl FnOnce(DomainOptions) -> Result<DomainOptions, Failure>) -> i32 {
        guarded(|| {
            let object = self.get()?;
            let _still = lockgate::still();
            let mut state = locked(&object.state);
            state.options = change(state.options.clone())?;
            Ok(())
        })
    }

    fn grant(self, change: impl FnOnce(Grants) -> Result<Grants, Failure>) -> i32 {
        guarded(|| {
            let object = self.get()?;
            let _still = lockgate::still();
            let mut state = locked(&object.state);
            state.grants = change(state.grants.clone())?;
            Ok(())
        })
    }
}

/// New options: the defaults. What stands for none is `NULL`, which is the defaults as well and limits nothing: so this is what is
/// returned if they cannot be made, and the function that uses it finds out.
#[unsafe(no_mangle)]
pub extern "C" fn lg_options_new() -> Handle<OptionsObject> {
    value(Handle::REFUSED, || Ok(Handle::new(OptionsObject::default())))
}

/// Frees them.
#[unsafe(no_mangle)]
pub extern "C" fn lg_options_free(options: Handle<OptionsObject>) -> i32 {
    freed(options)
}

/// Name in reports.
///
/// # Safety
/// `name` is a string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_options_name(options: Handle<OptionsObject>, name: *const c_char) -> i32 {
    // SAFETY: the caller's string.
    options.change(|options| Ok(options.name(unsafe { text(name, "name")? })))
}

/// Limit of memory, bytes.
#[unsafe(no_mangle)]
pub extern "C" fn lg_options_memory_limit(options: Handle<OptionsObject>, bytes: u64) -> i32 {
    options.change(|options| Ok(options.memory_limit(bytes)))
}

/// Stack of each thread, bytes.
#[unsafe(no_mangle)]
pub extern "C" fn lg_options_stack_size(options: Handle<OptionsObject>, bytes: u64) -> i32 {
    options.change(|options| Ok(options.stack_size(bytes)))
}

/// Limit of each call, milliseconds.
#[unsafe(no_mangle)]
pub extern "C" fn lg_options_time_limit(options: Handle<OptionsObject>, milliseconds: u64) -> i32 {
    options.change(|options| Ok(options.time_limit(Duration::from_millis(milliseconds))))
}

/// Limit of calls that go on without their callers, milliseconds.
#[unsafe(no_mangle)]
pub extern "C" fn lg_options_detached_limit(options: Handle<OptionsObject>, milliseconds: u64) -> i32 {
    options.change(|options| Ok(options.detached_limit(Duration::from_millis(milliseconds))))
}

/// CPU time limit, milliseconds.
#[unsafe(no_mangle)]
pub extern "C" fn lg_options_cpu_limit(options: Handle<OptionsObject>, milliseconds: u64) -> i32 {
    options.change(|options| Ok(options.cpu_limit(Duration::from_millis(milliseconds))))
}

/// Measures CPU time.
#[unsafe(no_mangle)]
pub extern "C" fn lg_options_measure_cpu_time(options: Handle<OptionsObject>) -> i32 {
    options.change(|options| Ok(options.measure_cpu_time()))
}

/// Threads at once.
#[unsafe(no_mangle)]
pub extern "C" fn lg_options_thread_limit(options: Handle<OptionsObject>, threads: u32) -> i32 {
    options.change(|options| Ok(options.thread_limit(threads)))
}

/// Threads of the module's own at once.
#[unsafe(no_mangle)]
pub extern "C" fn lg_options_max_guest_threads(options: Handle<OptionsObject>, threads: u32) -> i32 {
    options.change(|options| Ok(options.max_guest_threads(threads)))
}

/// Descriptors at once.
#[unsafe(no_mangle)]
pub extern "C" fn lg_options_descriptor_limit(options: Handle<OptionsObject>, descriptors: u32) -> i32 {
    options.change(|options| Ok(options.descriptor_limit(descriptors)))
}

/// Separate mappings at once.
#[unsafe(no_mangle)]
pub extern "C" fn lg_options_mapping_limit(options: Handle<OptionsObject>, mappings: u32) -> i32 {
    options.change(|options| Ok(options.mapping_limit(mappings)))
}

/// How deep calls may nest.
#[unsafe(no_mangle)]
pub extern "C" fn lg_options_depth_limit(options: Handle<OptionsObject>, depth: u32) -> i32 {
    options.change(|options| Ok(options.depth_limit(depth)))
}

/// Seals the domain's code.
#[unsafe(no_mangle)]
pub extern "C" fn lg_options_seal(options: Handle<OptionsObject>) -> i32 {
    options.change(|options| Ok(options.seal(true)))
}

/// The host's predicate, with what it is asked with.
#[derive(Clone, Copy)]
struct Predicate {
    ask: extern "C" fn(*mut c_void) -> c_int,
    user: *mut c_void,
}

// SAFETY: the caller of lg_options_stop_if has said that it may be asked on any thread.
unsafe impl Send for Predicate {}
// SAFETY: as above.
unsafe impl Sync for Predicate {}

impl Predicate {
    fn answer(&self) -> bool {
        (self.ask)(self.user) != 0
    }
}

/// Ends calls while the host's predicate is answered with yes.
#[unsafe(no_mangle)]
pub extern "C" fn lg_options_stop_if(
    options: Handle<OptionsObject>,
    predicate: Option<extern "C" fn(*mut c_void) -> c_int>,
    user: *mut c_void,
) -> i32 {
    options.change(|options| {
        let ask = predicate.ok_or_else(|| Failure::argument("predicate is NULL"))?;
        let predicate = Predicate { ask, user };
        Ok(options.stop_if(move || predicate.answer()))
    })
}

/// Has the calling thread ask the predicate of the domain that it is in. Async-signal-safe.
#[unsafe(no_mangle)]
pub extern "C" fn lg_interrupt() {
    lockgate::interrupt();
}

/// Has calls keep all processor state, for modules that join.
#[unsafe(no_mangle)]
pub extern "C" fn lg_options_full_xstate(options: Handle<OptionsObject>) -> i32 {
    options.change(|options| Ok(options.full_xstate(true)))
}

/// What the domain asks for in every call.
#[unsafe(no_mangle)]
pub extern "C" fn lg_options_policy(options: Handle<OptionsObject>, word: u32) -> i32 {
    options.change(|options| Ok(options.policy(policy(word, Policy::MUTUAL_TRUST)?)))
}

/// One thread at a time; others wait so many milliseconds, or without end if the number is negative.
#[unsafe(no_mangle)]
pub extern "C" fn lg_options_exclusive(options: Handle<OptionsObject>, timeout_ms: i64) -> i32 {
    options.change(|options| Ok(options.exclusive(u64::try_from(timeout_ms).ok().map(Duration::from_millis))))
}

/// File mode creation mask.
#[unsafe(no_mangle)]
pub extern "C" fn lg_options_umask(options: Handle<OptionsObject>, mask: u32) -> i32 {
    options.change(|options| Ok(options.umask(mask)))
}

/// Arguments of a program.
///
/// # Safety
/// `arguments` leads to `count` strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_options_arguments(
    options: Handle<OptionsObject>,
    count: usize,
    arguments: *const *const c_char,
) -> i32 {
    options.change(|options| {
        // SAFETY: the caller's array of strings.
        let arguments = unsafe {
            let all = slice(arguments, count, "arguments")?;
            all.iter().map(|argument| bytes(*argument, "an argument")).collect::<Result<Vec<_>, _>>()?
        };
        Ok(options.arguments(arguments))
    })
}

/// A variable of a program's environment.
///
/// # Safety
/// `name` and `value` are strings or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_options_environment(
    options: Handle<OptionsObject>,
    name: *const c_char,
    value: *const c_char,
) -> i32 {
    options.change(|options| {
        // SAFETY: the caller's strings.
        let (name, value) = unsafe { (text(name, "name")?, bytes(value, "value")?) };
        if name.is_empty() || name.contains('=') {
            return Err(Failure::argument(format!("{name:?} is no name of a variable")));
        }
        Ok(options.environment(name, value))
    })
}

/// Answers an import with a function of the host.
///
/// # Safety
/// As [`host_function`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_options_gate(
    options: Handle<OptionsObject>,
    prototype: *const c_char,
    function: Option<Code>,
    user: *mut c_void,
) -> i32 {
    options.change(|options| {
        // SAFETY: the caller's promises.
        let (name, function) = unsafe { host_function(prototype, function, user)? };
        Ok(options.gate(name, function))
    })
}

/// Grants a directory.
///
/// # Safety
/// `guest` and `host` are strings or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_options_directory(
    options: Handle<OptionsObject>,
    guest: *const c_char,
    host: *const c_char,
    writable: c_int,
) -> i32 {
    options.grant(|grants| {
        let access = if writable != 0 { Access::ReadWrite } else { Access::ReadOnly };
        // SAFETY: the caller's strings.
        let (guest, host) = unsafe { (text(guest, "guest")?, text(host, "host")?) };
        Ok(grants.directory(guest, host, access)?)
    })
}

/// Lets the domain be reached at an address.
///
/// # Safety
/// `address` is a string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_options_listen(options: Handle<OptionsObject>, address: *const c_char) -> i32 {
    // SAFETY: the caller's string.
    options.grant(|grants| Ok(grants.listen(unsafe { text(address, "address")? })?))
}

/// Lets the domain connect to an address.
///
/// # Safety
/// `address` is a string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_options_connect(options: Handle<OptionsObject>, address: *const c_char) -> i32 {
    // SAFETY: the caller's string.
    options.grant(|grants| Ok(grants.connect(unsafe { text(address, "address")? })?))
}

/// Where the domain starts.
///
/// # Safety
/// `guest` is a string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_options_current_directory(
    options: Handle<OptionsObject>,
    guest: *const c_char,
) -> i32 {
    // SAFETY: the caller's string.
    options.grant(|grants| Ok(grants.current_directory(unsafe { text(guest, "guest")? })))
}

/// Grants a duplicate of a descriptor as stream 0, 1 or 2.
#[unsafe(no_mangle)]
pub extern "C" fn lg_options_stream(options: Handle<OptionsObject>, number: c_int, descriptor: c_int) -> i32 {
    options.grant(|grants| {
        let fd = borrow(descriptor)?.try_clone_to_owned();
        let cannot = |error| format!("cannot grant descriptor {descriptor}: {error}");
        let fd = fd.map_err(|error| Failure::new(Status::Stream, cannot(error)))?;
        match number {
            0 => Ok(grants.stdin(fd)?),
            1 => Ok(grants.stdout(fd)?),
            2 => Ok(grants.stderr(fd)?),
            _ => Err(Failure::argument(format!("{number} is no standard stream: 0, 1 or 2"))),
        }
    })
}

/// Grants the host's own standard streams.
#[unsafe(no_mangle)]
pub extern "C" fn lg_options_standard_streams(options: Handle<OptionsObject>) -> i32 {
    options.grant(|grants| Ok(grants.standard_streams()?))
}

/// Never opens the file behind a descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn lg_options_forbid(options: Handle<OptionsObject>, descriptor: c_int) -> i32 {
    options.grant(|grants| Ok(grants.forbid(borrow(descriptor)?)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;

    #[test]
    fn options_that_could_not_be_made_are_not_the_defaults() {
        let refused = Handle::<OptionsObject>::REFUSED;
        assert!(!refused.is_null());
        assert_eq!(refused.options().err().map(|failure| failure.status), Some(Status::Handle));
        assert_eq!(lg_options_memory_limit(refused, 1), Status::Handle as i32);
        assert_eq!(lg_options_free(refused), Status::Handle as i32);
    }
}
