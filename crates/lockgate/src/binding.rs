//! Bindings: an entry point of a domain, connected to the host by a thunk.
mod frame;
mod front_sys;
mod invoke_sys;
mod pointers;
mod registers_asm;

pub use frame::Frame;
pub(crate) use front_sys::{Front, RawFunctionPointer};
use front_sys::{Header, Way};
pub(crate) use invoke_sys::Results;
pub use pointers::{begins_elsewhere, failed_elsewhere, take_call_error};
pub use registers_asm::Registers;

use crate::call::call_abi::{CallAbi, Caller};
use crate::call::interruptions_sys::Left;
use crate::call::layout::{
    BindingHeader, DETACHES, GIVES_UP, GateEntry, Headers, NO_DOMAIN, RECORD, SLOT_SIZE,
};
use crate::call::proxies::{Proxy, ProxyListing};
use crate::call::reporter::Reporter;
use crate::call::thunks::gate_thunk;
use crate::call::{
    self, AnyDomain, Closed, Gate, Info, Instance, Lent, OnFailure, Thunk, flags, of_function, signals_sys,
    thread_sys, tsan_sys, watch,
};
use crate::error::{BindError, CallError};
use crate::host::environment;
use crate::module::Module;
use crate::module::Placed;
use crate::nearest::nearest;
use crate::policy::Policy;
use crate::signature::{self, Plan, PrototypeError, Signature, Type};
use crate::stats::Row;
use crate::symbols::perf_map;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Once, OnceLock};
use std::time::Duration;

/// What becomes of a call when its caller's time limit passes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Expiry {
    /// It is stopped: [`FaultKind::TimeOut`](crate::FaultKind::TimeOut).
    #[default]
    Stop,
    /// It goes on without its caller, which gets [`CallError::Detached`] at once: on a thread of the library's, which has the call's stacks and
    /// thread-local storage in the domain from then on, and its turn, if it has one; until [`DomainOptions::detached_limit`](crate::DomainOptions::detached_limit)
    /// or the domain's own time limit. Its result is dropped; [`Domain::usage`](crate::Domain::usage) counts it.
    ///
    /// It is stopped all the same where something of it is another's: in a function of the host's or a call of another domain, in a handler or a
    /// context of the domain's, in a call that is nested in another one of the same domain, and while memory is lent for it; in a few system calls that
    /// cannot be made once more, such as those that wait with a signal mask of their own; and where the system gives no thread.
    Detach,
}

/// How long a caller waits for calls of one function ([`Domain::bind_within`](crate::Domain::bind_within),
/// [`Request::within`](crate::Request::within)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimit {
    time: Duration,
    on_expiry: Expiry,
}

impl CallLimit {
    /// So long, in whole milliseconds; then a call is stopped.
    pub fn new(time: Duration) -> CallLimit {
        CallLimit { time, on_expiry: Expiry::default() }
    }

    /// What becomes of a call then.
    pub fn on_expiry(mut self, on_expiry: Expiry) -> CallLimit {
        self.on_expiry = on_expiry;
        self
    }
}

/// An entry point of a domain, bound for one caller.
pub(crate) struct Binding {
    thunk: Arc<Way>,
    /// What thunk and gates point to: it must not move.
    header: &'static Header,
    info: Arc<Info>,
    proxy: Arc<Proxy>,
    signature: Signature,
    plan: Plan,
    policy: Policy,
    caller: Caller,
    /// The caller's own, and what has the watcher keep it.
    limit: Option<CallLimit>,
    _watched: Option<watch::Interest>,
    /// What takes the calls of this binding, or of callers that ask, since its domain was restarted.
    successor: OnceLock<Arc<Binding>>,
    /// Its own raw function pointer was given out.
    listed: Once,
}

/// What a binding is made of, beside its domain.
struct Parts {
    /// Window offset of the procedure.
    address: u64,
    signature: Signature,
    plan: Plan,
    terms: Terms,
    limit: Option<Duration>,
    /// The caller's own limit.
    callers: Option<CallLimit>,
    /// How long a call may wait for its turn in an exclusive domain, if not as long as the domain says.
    queue: Option<Duration>,
    /// The signature is unknown.
    generic: bool,
    pointer: Option<PointerParts>,
}

/// What a binding has by its caller.
struct Terms {
    caller: Caller,
    policy: Policy,
    on_failure: OnFailure,
    row: Option<Arc<Row>>,
    lent: Lent,
    /// In an exclusive domain: calls wait for no turn, and take none.
    concurrent: bool,
    /// The calling thread has its turn already, for as long as it says itself.
    has_turn: bool,
    limit: Option<CallLimit>,
}

impl Terms {
    fn new(caller: Caller, policy: Policy) -> Terms {
        let (on_failure, lent) = (OnFailure::default(), Lent::default());
        Terms { caller, policy, on_failure, row: None, lent, concurrent: false, has_turn: false, limit: None }
    }
}

/// What both sides of a binding ask for, and what the caller says of calls that fail or take long.
pub(crate) struct Wishes {
    pub policy: Policy,
    pub on_failure: OnFailure,
    pub limit: Option<CallLimit>,
}

/// How one of the module's own procedures is called by the runtime.
#[derive(Default)]
pub(crate) struct Internal<'a> {
    /// Which of the images in the domain's window has it, if not the domain's own.
    pub image: Option<&'a Placed>,
    /// A time limit of its own. It is for the wait before the call, too: for its turn, if the domain is exclusive.
    pub within: Option<Duration>,
    /// For a thread of the program's own, which takes its turn by [`OwnTurn`](crate::call::OwnTurn), if the domain gives turns up.
    pub in_turn: bool,
}

impl Internal<'_> {
    pub fn within(limit: impl Into<Option<Duration>>) -> Self {
        Internal { within: limit.into(), ..Internal::default() }
    }

    pub fn in_turn() -> Self {
        Internal { in_turn: true, ..Internal::default() }
    }
}

/// What a binding needs whose pointer stays callable for good.
struct PointerParts {
    reporter: Arc<Reporter>,
    /// What an earlier instance of the same symbol left.
    front: Option<Front>,
}

impl Binding {
    /// Binds `signature.name` for the host, if the module's own note agrees with `signature`.
    ///
    /// # Errors
    /// [`BindError`].
    pub fn new(
        domain: Arc<dyn AnyDomain>,
        signature: Signature,
        policy: Policy,
    ) -> Result<Binding, BindError> {
        let image = domain.image();
        Binding::of_export(domain, &image, signature, Terms::new(Caller::Host, policy))
    }

    /// The same for calls within `limit`.
    ///
    /// # Errors
    /// [`BindError`].
    pub fn within(
        domain: Arc<dyn AnyDomain>,
        signature: Signature,
        policy: Policy,
        limit: CallLimit,
    ) -> Result<Binding, BindError> {
        let image = domain.image();
        let terms = Terms { limit: Some(limit), ..Terms::new(Caller::Host, policy) };
        Binding::of_export(domain, &image, signature, terms)
    }

    /// Binds a function of one of its images for calls from `caller`.
    ///
    /// # Errors
    /// [`BindError`].
    pub fn for_domain(
        domain: Arc<dyn AnyDomain>,
        image: &Placed,
        signature: Signature,
        caller: &Instance,
        policy: Policy,
        on_failure: OnFailure,
    ) -> Result<Binding, BindError> {
        let terms = Terms::new(Caller::Domain(caller.state_usage()), policy);
        Binding::of_export(domain, image, signature, Terms { on_failure, ..terms })
    }

    /// Binds it for the host, or for calls from a domain, with its traffic counted in `row`; `concurrent`: without a turn, if the domain is
    /// exclusive.
    ///
    /// # Errors
    /// [`BindError`].
    pub fn listed(
        domain: Arc<dyn AnyDomain>,
        signature: Signature,
        caller: Option<&Instance>,
        wishes: Wishes,
        row: Option<Arc<Row>>,
        concurrent: bool,
    ) -> Result<Binding, BindError> {
        let Wishes { policy, on_failure, limit } = wishes;
        let caller = caller.map_or(Caller::Host, |caller| Caller::Domain(caller.state_usage()));
        let image = domain.image();
        let terms = Terms { on_failure, row, concurrent, limit, ..Terms::new(caller, policy) };
        Binding::of_export(domain, &image, signature, terms)
    }

    /// The same function of `domain`, another instance of the same module, for the same caller; `hands_on`: this one's calls are
    /// going to be its calls ([`hand_on`](Binding::hand_on)).
    ///
    /// # Errors
    /// [`BindError::Memory`].
    pub fn again(&self, domain: Arc<dyn AnyDomain>, hands_on: bool) -> Result<Binding, BindError> {
        let Binding { signature, policy, caller, info, .. } = self;
        let image = domain.image();
        let terms = Terms {
            caller: *caller,
            policy: *policy,
            on_failure: info.on_failure,
            row: info.row().cloned(),
            lent: if hands_on { info.lent().clone() } else { Lent::default() },
            concurrent: self.header.owner.is_null(),
            has_turn: false,
            limit: self.limit,
        };
        Binding::of_export(domain, &image, signature.clone(), terms)
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
        let Some((_, Some(signature))) = module.export_with_note(name)? else { return Ok(None) };
        within_registers(module.name(), signature, instead)?;
        Ok(Some(signature.clone()))
    }

    fn of_export(
        domain: Arc<dyn AnyDomain>,
        image: &Placed,
        signature: Signature,
        terms: Terms,
    ) -> Result<Binding, BindError> {
        domain.here().map_err(|_| BindError::Forked(domain.name().to_owned()))?;
        if let Caller::Host = terms.caller {
            signals_sys::look_again();
        }
        let module = &image.module;
        let Some((export, noted)) = module.export_with_note(&signature.name)? else {
            return Err(BindError::missing(module, &signature.name));
        };
        if let Some(noted) = noted {
            BindError::unless_agreed(module.name(), &signature.name, noted, &signature)?;
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
            limit: domain.terms().time_limit,
            callers: terms.limit,
            terms: Terms { policy: terms.policy.union(domain.terms().policy), ..terms },
            queue: None,
            generic: false,
            pointer: None,
        };
        Binding::make(domain, parts).map_err(BindError::Memory)
    }

    /// Binds one of the module's own procedures for the runtime (`lockgate_abi::symbol`), integers in and
    /// out; `None` if the module has it not.
    pub fn internal(
        domain: Arc<dyn AnyDomain>,
        name: &str,
        how: Internal<'_>,
    ) -> Option<std::io::Result<Binding>> {
        let Internal { image, within: queue, in_turn } = how;
        let address = match image {
            Some(image) => image.export(name),
            None => domain.image().export(name),
        }?;
        let has_turn = in_turn && domain.terms().gives_up;
        let word = Type::Integer { bytes: 8, signed: false };
        let signature = Signature { name: name.to_owned(), result: word.clone(), parameters: vec![word] };
        let parts = Parts {
            address,
            plan: Plan::new(&signature).expect("one word fits in registers"),
            signature,
            // Nothing of the host's registers stays behind in a new domain's memory.
            terms: Terms { has_turn, ..Terms::new(Caller::Host, Policy::MUTUAL_DISTRUST) },
            limit: queue.or(domain.terms().time_limit),
            callers: None,
            queue,
            generic: false,
            pointer: None,
        };
        Some(Binding::make(domain, parts))
    }

    /// By which a thread comes into `domain` that goes on with what is `left` of a call, for `limit` at most: at the thunk of a system call, whose
    /// gate goes on with that. If the call has a turn, the thread has it.
    ///
    /// # Errors
    /// There is no memory for it, or no watcher.
    pub fn going_on(domain: Arc<dyn AnyDomain>, left: &Left, limit: Duration) -> std::io::Result<Binding> {
        let word = Type::Integer { bytes: 8, signed: false };
        let name = left.entry_point.clone();
        let signature = Signature { name, result: word.clone(), parameters: vec![word] };
        let terms = Terms::new(Caller::Host, Policy::MUTUAL_DISTRUST);
        let parts = Parts {
            address: gate_thunk(lockgate_abi::gate::SYSCALL),
            plan: Plan::new(&signature).expect("one word fits in registers"),
            signature,
            terms: Terms { concurrent: true, has_turn: left.gives_up, ..terms },
            limit: None,
            callers: Some(CallLimit::new(limit)),
            queue: None,
            generic: false,
            pointer: None,
        };
        Binding::make(domain, parts)
    }

    fn make(domain: Arc<dyn AnyDomain>, parts: Parts) -> std::io::Result<Binding> {
        domain.here().map_err(std::io::Error::other)?;
        let Parts { address, signature, plan, terms, limit, callers, queue, generic, pointer } = parts;
        let Terms { caller, policy, on_failure, row, lent, concurrent, has_turn, limit: _ } = terms;
        // (The shorter one.)
        let own = callers.filter(|own| limit.is_none_or(|limit| own.time < limit));
        let limit = own.map_or(limit, |own| Some(own.time));
        let watched = match own {
            Some(_) => Some(watch::Interest::new(true, None, false)?),
            None => None,
        };
        let detaches = match own {
            Some(CallLimit { on_expiry: Expiry::Detach, .. }) => DETACHES,
            _ => 0,
        };
        let takes_turns = domain.terms().exclusive.is_some() && !concurrent && !has_turn;
        let policy = measured(policy);
        let row = row.or_else(|| list(&signature, caller, policy));
        if let Some(row) = &row {
            row.serve(domain.row());
        }
        // A domain may find in registers what the way from its gate has left there, and its own callers count on its window's usage.
        let function = match caller {
            Caller::Host => domain.codes().at(domain.base() + address),
            Caller::Domain(_) => None,
        };
        let function = function.and_then(|code| code.function(domain.base() + address));
        // 0 is none: what is shorter than the watcher's unit is one of them.
        let time = limit;
        let limit = limit.map_or(0, |limit| u32::try_from(limit.as_millis()).unwrap_or(u32::MAX).max(1));
        let abi = |callee| {
            let mut abi = CallAbi::new(caller, callee, policy, &signature, &plan);
            abi.limited = limit != 0;
            abi.depth = domain.terms().depth.is_some();
            abi.exclusive = takes_turns;
            abi.reports = pointer.is_some();
            if generic { abi.without_signature() } else { abi }
        };
        // Where a handler of the domain's own signals begins in a call, the function is not all that runs in it: then it goes by the window.
        let by_window = abi(domain.state_usage());
        let by_function = function.map(abi).filter(|abi| abi.callee != by_window.callee);
        let abi = by_function.unwrap_or(by_window);
        let (proxy, wide) = (Proxy::of(abi)?, Proxy::of(by_window)?);
        // Who may not be inside for longer does not wait for longer to be.
        let queue = queue.or(if takes_turns { time } else { None });
        let info = Arc::new(Info::new(signature.name.clone(), domain.clone(), on_failure, row, queue, lent));
        let slot = domain.id() * SLOT_SIZE;
        let header = |proxy: &Proxy, flags: u32| BindingHeader {
            proxy: AtomicUsize::new(proxy.enter),
            leave: proxy.leave,
            window: domain.base(),
            target: domain.base() + address,
            slot,
            admission: AtomicU32::new(NO_DOMAIN), // until it is listed
            stack_words: plan.stack_words,
            result_size: plan.result_size,
            result_room: plan.result_size.next_multiple_of(16),
            limit,
            // An entry and a gate for each call that it is nested in.
            depth: domain
                .terms()
                .depth
                .map_or(u32::MAX, |depth| (depth - 1).saturating_mul(2 * RECORD as u32)),
            flags,
            gates: domain.gates().gates(),
            domain: ptr::from_ref::<Instance>(&domain),
            info: Arc::as_ptr(&info),
            owner: if abi.exclusive { domain.owner() } else { ptr::null() },
            traffic: info.traffic(),
            successor: AtomicPtr::default(),
            reporter: pointer.as_ref().map_or(ptr::null(), |pointer| Arc::as_ptr(&pointer.reporter)),
            retired: AtomicBool::new(false),
        };
        let gives_up = if (takes_turns || has_turn) && domain.terms().gives_up { GIVES_UP } else { 0 };
        let more = gives_up | detaches;
        let own = flags(&abi) | by_function.map_or(0, |abi| of_function(&abi, &by_window));
        let headers = Headers([header(&proxy, own | more), header(&wide, flags(&by_window) | more)]);
        let (thunk, header) = match pointer.and_then(|pointer| pointer.front) {
            Some(front) => front.revive(headers),
            None => {
                let way = Way::new(headers)?;
                let header = way.header();
                (way, header)
            }
        };
        tsan_sys::released(header);
        domain.admissions().admit(&header.admission, slot);
        let name = || format!("thunk of {} [{}]", signature.name, domain.name());
        perf_map::list(thunk.code() as usize, Thunk::SIZE, name);
        let (successor, listed) = (OnceLock::new(), Once::new());
        Ok(Binding {
            thunk,
            header,
            info,
            proxy,
            signature,
            plan,
            policy,
            caller,
            limit: callers,
            _watched: watched,
            successor,
            listed,
        })
    }

    pub fn name(&self) -> &str {
        &self.signature.name
    }

    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    pub fn domain(&self) -> &Arc<dyn AnyDomain> {
        &self.info.domain
    }

    /// The domain that takes calls now: another instance after a restart that the binding survived.
    pub fn serving(&self) -> &Arc<dyn AnyDomain> {
        &self.info.newest().domain
    }

    /// True if calls are admitted, by this binding or the one that takes them now.
    pub fn is_open(&self) -> bool {
        self.info.newest().is_open().is_ok()
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Window offset of the procedure.
    pub fn procedure(&self) -> u64 {
        self.header.target - self.header.window
    }

    /// What is enforced: the union of what the caller and the domain asked for.
    pub fn policy(&self) -> Policy {
        self.policy
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

    /// The same for callers that ask for errors by [`take_call_error`]: any code may call this one.
    pub fn lend(self: &Arc<Self>) -> *const () {
        pointers::add(self);
        self.code()
    }

    /// From now on calls return an error at once; those in progress go on. The first reason stays. (Of bindings that
    /// hand on, the registry closes the last one.)
    pub fn close(&self, why: Closed) {
        if self.info.domain.is_inherited() {
            return;
        }
        self.info.close(why);
        self.header.admission.store(NO_DOMAIN, Ordering::Release);
    }

    /// As [`close`](Binding::close), and calls in progress end.
    pub fn stop(&self, why: Closed) {
        if self.info.domain.is_inherited() {
            return;
        }
        self.close(why);
        self.info.stop();
        watch::tell_of_stop(self.header_address());
    }

    /// By which the watcher knows it.
    pub fn header_address(&self) -> usize {
        &raw const **self.header as usize
    }

    /// Admits calls again, if the domain does.
    pub fn reopen(&self) {
        self.info.reopen();
        self.info.domain.admissions().admit(&self.header.admission, self.header.slot);
    }

    /// Hands later calls on to `successor`, made [`again`](Binding::again) for that. A binding has one at most.
    pub fn hand_on(&self, successor: Arc<Binding>) {
        let (header, info) = ((&raw const **successor.header).cast_mut(), successor.info.clone());
        if self.successor.set(successor).is_ok() {
            self.info.hand_on(info);
            self.header.successor.store(header, Ordering::Release);
            self.header.proxy.store(call::forward(), Ordering::Release);
        }
    }

    /// Later calls return an error, and `successor` is what takes those of callers that ask for it. A binding has one at most.
    pub fn end_for(&self, successor: Arc<Binding>) {
        self.close(Closed::Restarted);
        let _ = self.successor.set(successor);
    }

    /// Of this binding's successors the last.
    fn newest(&self) -> Option<&Arc<Binding>> {
        std::iter::successors(self.successor.get(), |binding| binding.successor.get()).last()
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
        if self.info.domain.is_inherited() {
            return; // it lives on in the parent
        }
        self.info.domain.admissions().remove(&self.header.admission);
        pointers::remove(self);
        thread_sys::forget(&raw const **self.header);
        if self.info.is_stopped() {
            watch::forget_stop(self.header_address());
        }
    }
}

/// Refuses a signature that only `module` has said, if a call by it would read or write the caller's memory.
///
/// # Errors
/// [`BindError::NeedsPrototype`].
pub(crate) fn within_registers(
    module: &str,
    noted: &Signature,
    instead: &'static str,
) -> Result<(), BindError> {
    let beyond = match Plan::new(noted) {
        Ok(plan) => plan.beyond_registers(),
        Err(_) => Some("takes or returns more than a call can"),
    };
    match beyond {
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
    /// # Errors
    /// What `module` notes of `name` is not what was asked for.
    pub(crate) fn unless_agreed(
        module: &str,
        name: &str,
        noted: &Signature,
        asked: &Signature,
    ) -> Result<(), BindError> {
        let (module, name) = (module.to_owned(), name.to_owned());
        signature::agree(noted, asked).map_err(|mismatch| BindError::Signature { module, name, mismatch })
    }

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

impl Value {
    /// The value as the eightbytes that a [`Frame`] takes; `None` if it is not of type `kind` or does not fit.
    pub fn words(&self, kind: &Type) -> Option<Vec<u64>> {
        words(self, kind)
    }

    /// The value of type `kind` in `words`, as a [`Frame`] has them: what is missing is 0.
    pub fn from_words(words: &[u64], kind: &Type) -> Value {
        value(words, kind)
    }
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
        self.binding.serving().base()
    }

    /// The function in the instance that takes calls now, if it was bound with [`Rebind::OnRequest`](crate::Rebind::OnRequest) and its
    /// domain has been restarted since. A call by the value that this returns enters that instance or none.
    pub fn newest(&self) -> Option<Dynamic> {
        let is_described = self.is_described;
        self.binding.newest().map(|binding| Dynamic { binding: binding.clone(), is_described })
    }

    /// The function as a C function pointer with the bound signature. A call through it that does not return normally
    /// returns anything; only [`take_call_error`] tells. It may be called as long as this function, or a clone of it, lives.
    ///
    /// # Panics
    /// If it was bound by [`bind_described`](crate::Domain::bind_described): the module would choose the type that the pointer has to be
    /// called by.
    pub fn as_ptr(&self) -> *const () {
        assert!(!self.is_described, "{} was bound by the module's own note", self.signature());
        self.binding.lend()
    }

    /// What is enforced: the union of what the caller and the domain asked for.
    pub fn policy(&self) -> Policy {
        self.binding.policy()
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
        self.binding.plan()
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
