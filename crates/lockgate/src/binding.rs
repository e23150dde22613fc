//! Bindings: an entry point of a domain, connected to the host by a thunk.
mod frame;
mod front_sys;
mod invoke_sys;
mod pointers;
pub(crate) mod report_sys;

pub use frame::Frame;
pub(crate) use front_sys::{BarePointer, Front, living, lockgate_report_failure};
use front_sys::{Header, Way};
pub(crate) use invoke_sys::{Registers, Results};
pub use pointers::take_call_error;

use crate::call::layout::{BindingHeader, GateEntry, RECORD};
use crate::call::shape::{Caller, Proxy, ProxyListing, Shape};
use crate::call::thread_sys::{self, NOBODY, SLOT_SIZE};
use crate::call::{self, Gate, Thunk, flags, signals_sys, unseen_sys, watch};
use crate::domain::{Core, judge};
use crate::error::{BindError, CallError};
use crate::host::environment;
use crate::module::Module;
use crate::module::Placed;
use crate::nearest::nearest;
use crate::policy::Policy;
use crate::report::{Captured, Entered};
use crate::report::{Fault, FaultKind, RawFault, Registers as FaultRegisters};
use crate::signature::{self, Plan, PrototypeError, Signature, Type};
use crate::space;
use crate::stats::{Gauge, Row, Traffic};
use crate::symbols::perf_map;
use report_sys::Reporter;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// An entry point of a domain, bound for one caller.
pub(crate) struct Binding {
    thunk: Arc<Way>,
    /// What thunk and gates point to: it must not move.
    header: &'static Header,
    info: Box<Info>,
    proxy: Arc<Proxy>,
}

/// What Rust knows of a binding.
pub(crate) struct Info {
    pub signature: Signature,
    pub plan: Plan,
    /// The callee, kept alive.
    pub core: Arc<Core>,
    /// Window offset of the procedure.
    pub address: u64,
    pub policy: Policy,
    /// For calls from a domain.
    pub on_failure: OnFailure,
    caller: Caller,
    pub traffic: Traffic,
    /// Its place in the list of bindings that other processes can read.
    row: Option<Arc<Row>>,
    closed: Mutex<Option<Closed>>,
    /// Calls in progress end, too.
    stopped: AtomicBool,
    /// What takes the calls of this binding since its domain was restarted.
    successor: OnceLock<Arc<Binding>>,
    /// Somebody has a bare pointer to it.
    lent: AtomicBool,
}

/// What a binding is made of, beside its domain.
struct Parts {
    /// Window offset of the procedure.
    address: u64,
    signature: Signature,
    plan: Plan,
    caller: Caller,
    policy: Policy,
    on_failure: OnFailure,
    row: Option<Arc<Row>>,
    limit: Option<Duration>,
    /// Nobody knows the signature.
    generic: bool,
    pointer: Option<PointerParts>,
}

/// What a binding needs whose pointer stays callable for good.
struct PointerParts {
    reporter: Arc<Reporter>,
    /// What an earlier instance of the same symbol left.
    front: Option<Front>,
}

/// Why a binding admits no calls any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closed {
    Revoked,
    Restarted,
    /// The library was closed.
    Unloaded,
}

impl Info {
    /// True if a bare pointer was given out.
    pub(crate) fn is_lent(&self) -> bool {
        self.lent.load(Ordering::Acquire)
    }

    /// # Errors
    /// Why no call may begin.
    pub fn is_open(&self) -> Result<(), CallError> {
        match *self.closed.lock().unwrap_or_else(|e| e.into_inner()) {
            None => Ok(()),
            Some(Closed::Revoked) => Err(CallError::Revoked(self.signature.name.clone())),
            Some(Closed::Restarted) => Err(CallError::Restarted(self.core.name().to_owned())),
            Some(Closed::Unloaded) => Err(CallError::Unloaded(self.core.name().to_owned())),
        }
    }

    /// True if calls in progress must end.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Of this binding and its successors, the one whose domain has `address`.
    pub fn that_ran(&self, address: u64) -> &Info {
        let mut info = self;
        while space::base_of(address) != info.core.base()
            && let Some(successor) = info.successor.get()
        {
            info = &successor.info;
        }
        info
    }

    /// A call of it that began with its stack pointer at `entry`, with its stacks as they are now.
    pub fn entered(&self, registers: FaultRegisters, entry: u64) -> Entered {
        let (domain, name) = (&self.core, &self.signature.name);
        let call = Entered::new(domain.name(), name, domain.images(), domain.base(), registers);
        let size = domain.stack_size_at(call.rsp());
        call.with_stack(domain.stride(), size, entry)
    }

    /// What a call of it that has just ended has done wrong, nested in `outer` calls, innermost first.
    pub fn fault(&self, raw: RawFault, outer: Vec<Entered>) -> Box<Fault> {
        let judgement = judge(&raw, &self.core);
        if let Some(row) = self.core.row().filter(|_| !matches!(judgement.kind, FaultKind::Exit(_))) {
            row.count(Gauge::Faults);
        }
        let call = self.entered(raw.registers, raw.entry);
        Fault::new(judgement, Captured { call, outer })
    }

    fn traffic(&self) -> &Traffic {
        self.row.as_ref().map_or(&self.traffic, |row| row.traffic())
    }
}

/// What a domain gets when its call of another domain fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// The call returns this value, in every register that can hold a result.
    Return(u64),
    /// The domain's own call ends, too, with [`CallError::Callee`].
    Propagate,
}

impl Default for OnFailure {
    /// All bits set: -1, not a number, or a pointer to nothing.
    fn default() -> OnFailure {
        OnFailure::Return(u64::MAX)
    }
}

impl Binding {
    /// Binds `signature.name` for the host, if the module's own note agrees with `signature`.
    ///
    /// # Errors
    /// [`BindError`].
    pub fn new(core: &Arc<Core>, signature: Signature, policy: Policy) -> Result<Binding, BindError> {
        let image = core.image();
        Binding::of_export(core, &image, signature, Caller::Host, policy, OnFailure::default(), None)
    }

    /// Binds a function of one of its images for calls from `caller`.
    ///
    /// # Errors
    /// [`BindError`].
    pub fn for_domain(
        core: &Arc<Core>,
        image: &Placed,
        signature: Signature,
        caller: &Core,
        policy: Policy,
        on_failure: OnFailure,
    ) -> Result<Binding, BindError> {
        Binding::of_export(core, image, signature, Caller::Domain(caller.facts()), policy, on_failure, None)
    }

    /// Binds it for the host, or for calls from a domain, with its traffic counted in `row`.
    ///
    /// # Errors
    /// [`BindError`].
    pub fn listed(
        core: &Arc<Core>,
        signature: Signature,
        caller: Option<&Core>,
        policy: Policy,
        on_failure: OnFailure,
        row: Arc<Row>,
    ) -> Result<Binding, BindError> {
        let caller = caller.map_or(Caller::Host, |caller| Caller::Domain(caller.facts()));
        Binding::of_export(core, &core.image(), signature, caller, policy, on_failure, Some(row))
    }

    /// The same function of `core`, another instance of the same module, for the same caller.
    ///
    /// # Errors
    /// [`BindError::Memory`].
    pub fn again(&self, core: &Arc<Core>) -> Result<Binding, BindError> {
        let Info { signature, policy, on_failure, caller, row, .. } = &*self.info;
        let image = core.image();
        Binding::of_export(core, &image, signature.clone(), *caller, *policy, *on_failure, row.clone())
    }

    /// What the module itself says of its export `name`, for a host that says nothing.
    ///
    /// # Errors
    /// [`BindError::NeedsPrototype`] if a call by it would not stay within registers; [`BindError::Missing`] is left to others.
    pub fn by_name(
        module: &Module,
        name: &str,
        instead: &'static str,
    ) -> Result<Option<Signature>, BindError> {
        let noted = module.export(name).and_then(|export| export.signature.as_deref());
        let Some(signature) = noted.map(str::parse::<Signature>).transpose()? else { return Ok(None) };
        within_registers(module.name(), &signature, instead)?;
        Ok(Some(signature))
    }

    fn of_export(
        core: &Arc<Core>,
        image: &Placed,
        signature: Signature,
        caller: Caller,
        policy: Policy,
        on_failure: OnFailure,
        row: Option<Arc<Row>>,
    ) -> Result<Binding, BindError> {
        core.here().map_err(|_| BindError::Forked(core.name().to_owned()))?;
        if let Caller::Host = caller {
            signals_sys::look_again();
        }
        let module = &image.module;
        let Some(export) = module.export(&signature.name) else {
            return Err(BindError::missing(module, &signature.name));
        };
        if let Some(noted) = &export.signature {
            signature::agree(&noted.parse()?, &signature).map_err(|mismatch| BindError::Signature {
                module: module.name().to_owned(),
                name: signature.name.clone(),
                mismatch,
            })?;
        }
        let plan = Plan::new(&signature).map_err(|what| PrototypeError {
            prototype: signature.to_string(),
            what,
            at: 1,
        })?;
        let parts = Parts {
            address: image.at + export.address,
            signature,
            plan,
            caller,
            policy: policy.union(core.policy()),
            on_failure,
            row,
            limit: core.time_limit(),
            generic: false,
            pointer: None,
        };
        Binding::make(core, parts).map_err(BindError::Memory)
    }

    /// Binds one of the module's own procedures for the runtime (`lockgate_abi::symbol`), integers in and
    /// out; `None` if the module has it not.
    pub fn internal(core: &Arc<Core>, name: &str) -> Option<std::io::Result<Binding>> {
        Binding::internal_within(core, name, core.time_limit())
    }

    /// The same, with a time limit of its own.
    pub fn internal_within(
        core: &Arc<Core>,
        name: &str,
        limit: Option<Duration>,
    ) -> Option<std::io::Result<Binding>> {
        Binding::internal_of(core, &core.image(), name, limit)
    }

    /// The same of one of the images in the domain's window.
    pub fn internal_of(
        core: &Arc<Core>,
        image: &Placed,
        name: &str,
        limit: Option<Duration>,
    ) -> Option<std::io::Result<Binding>> {
        let address = image.export(name)?;
        let word = Type::Integer { bytes: 8, signed: false };
        let signature = Signature { name: name.to_owned(), result: word.clone(), parameters: vec![word] };
        let parts = Parts {
            address,
            plan: Plan::new(&signature).expect("one word fits in registers"),
            signature,
            caller: Caller::Host,
            // Nothing of the host's registers stays behind in a new domain's memory.
            policy: Policy::MUTUAL_DISTRUST,
            on_failure: OnFailure::default(),
            row: None,
            limit,
            generic: false,
            pointer: None,
        };
        Some(Binding::make(core, parts))
    }

    fn make(core: &Arc<Core>, parts: Parts) -> std::io::Result<Binding> {
        core.here().map_err(std::io::Error::other)?;
        let Parts { address, signature, plan, caller, policy, on_failure, row, limit, generic, pointer } =
            parts;
        let policy = measured(policy);
        let row = row.or_else(|| list(&signature, caller, policy));
        if let Some(row) = &row {
            row.serve(core.row());
        }
        // A domain may find in registers what the way from its gate has left there, and its own callers count on its window's facts.
        let function = match caller {
            Caller::Host => core.codes().at(core.base() + address),
            Caller::Domain(_) => None,
        };
        let callee =
            function.and_then(|code| code.function(core.base() + address)).unwrap_or_else(|| core.facts());
        let limit = limit.map_or(0, |limit| u32::try_from(limit.as_millis()).unwrap_or(u32::MAX));
        let mut shape = Shape::new(caller, callee, policy, &signature, &plan);
        shape.limited = limit != 0;
        shape.depth = core.depth_limit().is_some();
        shape.exclusive = core.exclusive().is_some();
        shape.reports = pointer.is_some();
        if generic {
            shape = shape.without_signature();
        }
        let proxy = Proxy::of(shape)?;
        let info = Box::new(Info {
            signature,
            plan,
            core: core.clone(),
            address,
            policy,
            on_failure,
            caller,
            traffic: Traffic::default(),
            row,
            closed: Mutex::default(),
            stopped: AtomicBool::new(false),
            successor: OnceLock::new(),
            lent: AtomicBool::new(false),
        });
        let slot = core.id() * SLOT_SIZE;
        let header = BindingHeader {
            proxy: AtomicUsize::new(proxy.enter),
            leave: proxy.leave,
            window: core.base(),
            target: core.base() + address,
            slot,
            admission: AtomicU32::new(NOBODY), // until it is listed
            stack_words: info.plan.stack_words,
            result_size: info.plan.result_size,
            result_room: info.plan.result_size.next_multiple_of(16),
            limit,
            // An entry and a gate for each call that it is nested in.
            depth: core.depth_limit().map_or(u32::MAX, |depth| (depth - 1).saturating_mul(2 * RECORD as u32)),
            flags: flags(&shape),
            gates: core.gates().gates(),
            domain: Arc::as_ptr(core),
            info: &raw const *info,
            owner: if shape.exclusive { core.owner() } else { std::ptr::null() },
            traffic: info.traffic(),
            successor: AtomicPtr::default(),
            reporter: pointer
                .as_ref()
                .map_or(std::ptr::null(), |pointer| Arc::as_ptr(&pointer.reporter).cast()),
            retired: AtomicBool::new(false),
        };
        let (thunk, header) = match pointer.and_then(|pointer| pointer.front) {
            Some(front) => front.revive(header),
            None => {
                let way = Way::new(header)?;
                let header = way.header();
                (way, header)
            }
        };
        unseen_sys::given(header);
        core.admissions().admit(&header.admission, slot);
        let name = || format!("thunk of {} [{}]", info.signature.name, core.name());
        perf_map::list(thunk.code() as usize, Thunk::SIZE, name);
        Ok(Binding { thunk, header, info, proxy })
    }

    pub fn name(&self) -> &str {
        &self.info.signature.name
    }

    pub fn signature(&self) -> &Signature {
        &self.info.signature
    }

    pub fn domain(&self) -> &Arc<Core> {
        &self.info.core
    }

    pub fn info(&self) -> &Info {
        &self.info
    }

    pub fn proxy(&self) -> &Proxy {
        &self.proxy
    }

    /// The thunk: a C function with the bound signature.
    #[inline(always)]
    pub fn code(&self) -> *const () {
        self.thunk.code()
    }

    /// The same for callers that find out about errors by [`take_call_error`], who may be anybody.
    pub fn lend(self: &Arc<Self>) -> *const () {
        pointers::add(self);
        self.code()
    }

    /// From now on calls return an error at once; those in progress go on. The first reason stays. (Of bindings that
    /// hand on, the registry closes the last one.)
    pub fn close(&self, why: Closed) {
        if self.info.core.is_inherited() {
            return;
        }
        self.info.closed.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(why);
        self.header.admission.store(NOBODY, Ordering::Release);
    }

    /// As [`close`](Binding::close), and calls in progress end.
    pub fn stop(&self, why: Closed) {
        if self.info.core.is_inherited() {
            return;
        }
        self.close(why);
        self.info.stopped.store(true, Ordering::Release);
        watch::tell_of_stop(&raw const **self.header as usize);
    }

    /// Admits calls again, if the domain does.
    pub fn reopen(&self) {
        *self.info.closed.lock().unwrap_or_else(|e| e.into_inner()) = None;
        self.info.stopped.store(false, Ordering::Release);
        self.info.core.admissions().admit(&self.header.admission, self.header.slot);
    }

    /// Hands later calls on to `successor`, for the same caller with the same signature. A binding has one at most.
    pub fn hand_on(&self, successor: Arc<Binding>) {
        let header = (&raw const **successor.header).cast_mut();
        if self.info.successor.set(successor).is_ok() {
            self.header.successor.store(header, Ordering::Release);
            self.header.proxy.store(call::forward(), Ordering::Release);
        }
    }

    /// The entry of gates through which a domain calls this binding, made for it.
    pub fn gate_entry(&self) -> GateEntry {
        GateEntry::crossing(self.proxy.enter, &raw const **self.header)
    }

    /// The same, for a domain's tables.
    pub fn gate(self: Arc<Binding>) -> Gate {
        Gate { entry: self.gate_entry(), keeps: Some(self), is_binding: true }
    }
}

impl Drop for Binding {
    fn drop(&mut self) {
        if self.info.core.is_inherited() {
            return; // it lives on in the parent
        }
        self.info.core.admissions().remove(&self.header.admission);
        pointers::remove(self);
        thread_sys::forget(&raw const **self.header);
    }
}

/// Refuses a signature that only `module` has said, if a call by it would read or write the caller's memory.
///
/// # Errors
/// [`BindError::NeedsPrototype`], [`BindError::Prototype`].
pub(crate) fn within_registers(
    module: &str,
    noted: &Signature,
    instead: &'static str,
) -> Result<(), BindError> {
    let plan =
        Plan::new(noted).map_err(|what| PrototypeError { prototype: noted.to_string(), what, at: 1 })?;
    match plan.beyond_registers() {
        None => Ok(()),
        Some(what) => Err(BindError::NeedsPrototype {
            module: module.to_owned(),
            name: noted.name.clone(),
            noted: Box::new(noted.clone()),
            what,
            instead,
        }),
    }
}

/// `policy`, with calls counted and timed if the program's user asks for it.
pub(crate) fn measured(policy: Policy) -> Policy {
    if environment::measures() { policy.timed() } else { policy }
}

/// Lists a binding that no registry has listed, if its calls are counted: there is something to see.
fn list(signature: &Signature, caller: Caller, policy: Policy) -> Option<Arc<Row>> {
    let client = if caller == Caller::Host { "host" } else { "domain" };
    let counted = if policy.timed { "timed" } else { "counted" };
    policy
        .counted
        .then(|| Row::binding(None, &[client, &policy.to_string(), counted, &signature.name]).ok())?
}

impl BindError {
    /// There is no such export.
    pub(crate) fn missing(module: &Module, name: &str) -> BindError {
        BindError::Missing {
            module: module.name().to_owned(),
            near: nearest(name, module.exports().map(|(name, _)| name)),
            name: name.to_owned(),
        }
    }
}

/// A value of a call whose signature is known at run time only.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing: the result of a `void` function.
    Void,
    /// A signed integer of any size.
    Signed(i64),
    /// An unsigned integer of any size.
    Unsigned(u64),
    /// A `float`.
    Float(f32),
    /// A `double`.
    Double(f64),
    /// A pointer of the domain.
    Pointer(u64),
    /// A structure: its bytes, laid out as C does.
    Struct(Vec<u8>),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Void => f.write_str("nothing"),
            Value::Signed(number) => write!(f, "{number}"),
            Value::Unsigned(number) => write!(f, "{number}"),
            Value::Float(number) => write!(f, "{number:?}"),
            Value::Double(number) => write!(f, "{number:?}"),
            Value::Pointer(address) => write!(f, "pointer {address:#x}"),
            Value::Struct(bytes) => write!(f, "a structure of {} bytes", bytes.len()),
        }
    }
}

/// A function bound by its C prototype.
#[derive(Clone)]
pub struct Dynamic {
    pub(crate) binding: Arc<Binding>,
    /// By the module's own word: nothing for callers who believe that they know the function's type.
    is_described: bool,
}

impl std::fmt::Debug for Dynamic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Dynamic({} of {})", self.signature(), self.binding.domain().name())
    }
}

impl Dynamic {
    pub(crate) fn new(binding: Arc<Binding>) -> Dynamic {
        Dynamic { binding, is_described: false }
    }

    /// Bound by what the module says, whatever that is.
    pub(crate) fn described(binding: Arc<Binding>) -> Dynamic {
        Dynamic { binding, is_described: true }
    }

    /// Name, result and parameters.
    pub fn signature(&self) -> &Signature {
        self.binding.signature()
    }

    /// Name of the domain that it was bound in.
    pub fn domain_name(&self) -> &str {
        self.binding.domain().name()
    }

    /// Base of the instance that takes calls now: another one after a restart that the binding survived.
    pub fn base(&self) -> u64 {
        let mut info = self.binding.info();
        while let Some(successor) = info.successor.get() {
            info = &successor.info;
        }
        info.core.base()
    }

    /// The function as a C function pointer with the bound signature. A call through it that does not return normally
    /// returns anything; only [`take_call_error`] tells. It may be called as long as this function, or a clone of it, lives.
    ///
    /// # Panics
    /// If it was bound by [`bind_described`](crate::Domain::bind_described): the module would choose the type that the pointer has to be
    /// called by.
    pub fn as_ptr(&self) -> *const () {
        assert!(!self.is_described, "{} was bound by the module's own description", self.signature());
        self.binding.lend()
    }

    /// What is enforced: the union of what the caller and the domain asked for.
    pub fn policy(&self) -> Policy {
        self.binding.info().policy
    }

    /// The proxy's code.
    pub fn proxy(&self) -> ProxyListing<'_> {
        self.binding.proxy().listing()
    }

    /// Calls the function.
    ///
    /// # Errors
    /// [`CallError::Arguments`] if the values do not fit the signature, else what happened in the domain.
    pub fn call(&self, arguments: &[Value]) -> Result<Value, CallError> {
        let signature = self.binding.signature();
        if arguments.len() != signature.parameters.len() {
            let (given, wanted) = (arguments.len(), signature.parameters.len());
            return Err(CallError::Arguments(format!(
                "{signature} takes {wanted} arguments, {given} were given"
            )));
        }
        let mut frame = Frame::new(self.plan());
        for (number, (value, kind)) in arguments.iter().zip(&signature.parameters).enumerate() {
            let words = words(value, kind).ok_or_else(|| {
                CallError::Arguments(format!(
                    "argument {} of {signature}: {value} is not of type {kind}",
                    number + 1
                ))
            })?;
            frame.set(&self.plan().parameters[number], &words);
        }
        self.call_frame(&mut frame)?;
        Ok(value(&frame.result(self.plan()), &signature.result))
    }

    /// Where arguments and the result travel: the places of a [`Frame`].
    pub fn plan(&self) -> &Plan {
        &self.binding.info().plan
    }

    /// Calls the function with arguments that are laid out already, for bindings of other languages: nothing is converted
    /// or allocated. The frame has the results then, and can be used again.
    ///
    /// # Errors
    /// What happened in the domain.
    pub fn call_frame(&self, frame: &mut Frame) -> Result<(), CallError> {
        frame.invoke(&self.binding)
    }
}

/// A value as eightbytes; `None` if it is not of type `kind` or does not fit.
pub(crate) fn words(value: &Value, kind: &Type) -> Option<Vec<u64>> {
    let word = match (value, kind) {
        (Value::Void, Type::Void) => return Some(Vec::new()),
        (Value::Signed(n @ 0..=1), Type::Bool) => *n as u64,
        (Value::Unsigned(n @ 0..=1), Type::Bool) => *n,
        (Value::Signed(n), Type::Integer { bytes, signed }) => {
            let bits = u32::from(*bytes) * 8;
            let fits = if *signed {
                (n << (64 - bits)) >> (64 - bits) == *n
            } else {
                *n >= 0 && fits_unsigned(*n as u64, bits)
            };
            fits.then_some(*n as u64)?
        }
        (Value::Unsigned(n), Type::Integer { bytes, signed }) => {
            let bits = u32::from(*bytes) * 8 - u32::from(*signed);
            fits_unsigned(*n, bits).then_some(*n)?
        }
        (Value::Float(x), Type::Float) => u64::from(x.to_bits()),
        (Value::Double(x), Type::Double) => x.to_bits(),
        (Value::Pointer(p), Type::Pointer) => *p,
        (Value::Struct(bytes), Type::Struct(_)) if bytes.len() == kind.size() => {
            return Some(
                bytes
                    .chunks(8)
                    .map(|chunk| {
                        let mut word = [0; 8];
                        word[..chunk.len()].copy_from_slice(chunk);
                        u64::from_le_bytes(word)
                    })
                    .collect(),
            );
        }
        _ => return None,
    };
    Some(vec![word])
}

fn fits_unsigned(value: u64, bits: u32) -> bool {
    bits == 64 || value >> bits == 0
}

/// The value of type `kind` in `words`.
pub(crate) fn value(words: &[u64], kind: &Type) -> Value {
    let word = words.first().copied().unwrap_or_default();
    match kind {
        Type::Void => Value::Void,
        Type::Bool => Value::Unsigned((word as u8 != 0).into()),
        Type::Integer { bytes, signed } => {
            let unused = 64 - u32::from(*bytes) * 8;
            if *signed {
                Value::Signed(((word << unused) as i64) >> unused)
            } else {
                Value::Unsigned((word << unused) >> unused)
            }
        }
        Type::Float => Value::Float(f32::from_bits(word as u32)),
        Type::Double => Value::Double(f64::from_bits(word)),
        Type::Pointer => Value::Pointer(word),
        Type::Struct(_) => {
            let mut bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            bytes.truncate(kind.size());
            Value::Struct(bytes)
        }
    }
}
