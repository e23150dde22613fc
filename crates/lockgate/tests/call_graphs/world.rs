//! Domains of several kinds, all linked with all, and the host's frames between them.
use crate::call_graphs::model::{
    self, DOMAINS, EXCLUSIVE, Edges, End, HOST, HOSTILE, STATEFUL, TAINT, VECTORS, WAYS, Way, mix,
};
use crate::common::{Guest, host_sys};
use lockgate::syscall::Grants;
use lockgate::{CallError, Callback, Domain, DomainOptions, Function, HostFunction, Module};
use std::cell::{Cell, RefCell};
use std::io::PipeWriter;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

lockgate::structure! {
    struct Big { a: u64, b: u64, c: u64, d: u64, e: u64 }
}

type Plain = extern "C" fn(u64, u64) -> u64;
type Wide = extern "C" fn(u64, u64, u64, u64, u64, u64, u64, i32, f64, i8, u64) -> u64;
type Grand = extern "C" fn(u64, u64, Big) -> Big;
type Mixed = extern "C" fn(u64, f32, f64, u64) -> f64;

/// Prototypes of a domain's procedures; `NAME` is the procedure's, or the import's that leads to it.
const PROTOTYPES: [(Way, &str, &str); 4] = [
    (Way::Plain, "plain", "unsigned long NAME(unsigned long, unsigned long)"),
    (
        Way::Wide,
        "wide",
        "unsigned long NAME(unsigned long, unsigned long, unsigned long, unsigned long, unsigned long, unsigned long, unsigned long, int, double, signed char, unsigned long)",
    ),
    (
        Way::Grand,
        "grand",
        "struct { unsigned long a, b, c, d, e; } NAME(unsigned long, unsigned long, struct { unsigned long a, b, c, d, e; })",
    ),
    (Way::Mixed, "mixed", "double NAME(unsigned long, float, double, unsigned long)"),
];

const GUEST: &str = include_str!("guest.c");
const ASSEMBLY: &str = include_str!("hostile.S");

thread_local! {
    /// What the thread's frames, in domains and in the host, found not to be intact.
    static BROKEN: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    /// The world that the thread is in.
    static WORLD: RefCell<Option<Arc<World>>> = const { RefCell::new(None) };
    /// The processor state of the thread's host frames.
    static STATE: Cell<(u32, u16, u64)> = const { Cell::new((0, 0, 0)) };
}

/// Says that something is not intact.
pub fn report(what: String) {
    BROKEN.with_borrow_mut(|broken| broken.push(what));
}

/// What this thread has reported since the last time.
pub fn broken() -> Vec<String> {
    BROKEN.take()
}

/// The modules, by number of the domain.
fn modules() -> &'static [Arc<Module>] {
    static MODULES: OnceLock<Vec<Arc<Module>>> = OnceLock::new();
    MODULES.get_or_init(|| (0..DOMAINS).map(module).collect())
}

fn module(number: usize) -> Arc<Module> {
    let own = format!("-DSELF={number}");
    let vectors = if std::arch::is_x86_feature_detected!("avx512f") { "-mavx512f" } else { "-mavx2" };
    let flags: &[&str] = match number {
        STATEFUL => &["-O2", "-DSTATEFUL"],
        VECTORS => &["-O3", "-mprefer-vector-width=512", "-DVECTORS", vectors],
        EXCLUSIVE => &["-O1", "-fno-omit-frame-pointer"],
        _ => &["-O2"],
    };
    let host = "unsigned long host(unsigned long, unsigned long)";
    if number == HOSTILE {
        return Guest::assembly(ASSEMBLY).gate(host).module();
    }
    let flags: Vec<&str> = flags.iter().copied().chain(["-g1", &own]).collect();
    let guest = Guest::c_with(GUEST, &flags)
        .gate(host)
        .gate("void corrupt(unsigned long, unsigned long)")
        .gate("void nowhere(void)");
    let imports = (0..DOMAINS).flat_map(|to| {
        PROTOTYPES.map(|(_, name, prototype)| prototype.replace("NAME", &format!("{name}{to}")))
    });
    imports.fold(guest, |guest, prototype| guest.gate(&prototype)).module()
}

/// How the host calls one domain.
struct Entries {
    plain: Function<Plain>,
    wide: Function<Wide>,
    /// The hostile one has none.
    grand: Option<Function<Grand>>,
    mixed: Function<Mixed>,
}

/// Domains, and who calls whom how.
pub struct World {
    pub domains: Vec<Domain>,
    pub edges: Edges,
    entries: Vec<Entries>,
    _pointers: Vec<Callback>,
    /// Of the pipe that domains wait for in vain.
    _writer: PipeWriter,
}

impl World {
    /// A world whose edges follow from `seed`. Each domain has a time limit, in milliseconds, and `timeout` is that of
    /// callers of the exclusive one.
    pub fn new(seed: u64, limit: impl Fn(usize) -> u64, timeout: Option<Duration>) -> Arc<World> {
        let edges = Edges::new(seed);
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let grants =
            || Grants::default().stdin(reader.try_clone().expect("a descriptor").into()).expect("a grant");
        let create = |number: usize| {
            let mut options = DomainOptions::new()
                .name(format!("d{number}"))
                .stack_size(256 << 10)
                .grants(grants())
                .gate("host", HostFunction::new(|_: &Domain, seed: u64, order: u64| host_frame(seed, order)));
            if limit(number) > 0 {
                options = options.time_limit(Duration::from_millis(limit(number)));
            }
            if number != HOSTILE {
                options = options.gate(
                    "corrupt",
                    HostFunction::new(|domain: &Domain, what: u64, seed: u64| {
                        report(format!("a frame of {} found breach {what}, seed {seed:#x}", domain.name()));
                    }),
                );
            }
            if number == EXCLUSIVE {
                options = options.exclusive(timeout);
            }
            Domain::new(&modules()[number], options)
        };
        let domains: Vec<_> = (0..DOMAINS).map(|number| in_time(|| create(number))).collect();
        let pointers = link(&domains, &edges);
        let entries = domains
            .iter()
            .enumerate()
            .map(|(number, domain)| Entries::bind(domain, number, &edges))
            .collect();
        Arc::new(World { domains, edges, entries, _pointers: pointers, _writer: writer })
    }

    /// Calls a domain from the host.
    fn enter(&self, to: usize, way: Way, seed: u64, order: u64) -> Result<u64, CallError> {
        let entries = &self.entries[to];
        let low = seed & ((1 << 40) - 1);
        let next = |n: u64| seed.wrapping_add(n);
        match way {
            Way::Wide => entries.wide.call(
                seed,
                order,
                next(1),
                next(2),
                next(3),
                next(4),
                next(5),
                seed as i32,
                low as f64,
                seed as i8,
                next(6),
            ),
            Way::Grand => {
                let [a, b, c, d, e] = std::array::from_fn(|i| mix(seed, 50 + i as u64));
                let grand = entries.grand.as_ref().expect("nobody calls the hostile domain so");
                let big = grand.call(seed, order, Big { a, b, c, d, e })?;
                if [big.b, big.c, big.d, big.e] != std::array::from_fn(|i| mix(big.a, 1 + i as u64)) {
                    report(format!("a result in memory is wrong, seed {seed:#x}"));
                }
                Ok(big.a)
            }
            Way::Mixed => {
                entries.mixed.call(seed, (seed & 0xffff) as f32, low as f64, order).map(model::decode_double)
            }
            _ => entries.plain.call(seed, order),
        }
    }

    /// Runs a program on this thread; what came of it.
    pub fn run(self: &Arc<World>, domain: usize, seed: u64, order: u64) -> Result<u64, End> {
        WORLD.set(Some(self.clone()));
        STATE.set(host_sys::cpu_state());
        let end = intact(seed, || self.enter(domain, Way::Plain, seed, order));
        WORLD.set(None);
        end.map_err(|error| End::of(&error))
    }
}

impl Entries {
    fn bind(domain: &Domain, number: usize, edges: &Edges) -> Entries {
        let policy = |way| edges.edge(HOST, number, way).policy;
        Entries {
            plain: domain.bind_with("plain", policy(Way::Plain)).expect("plain"),
            wide: domain.bind_with("wide", policy(Way::Wide)).expect("wide"),
            grand: (number != HOSTILE).then(|| domain.bind_with("grand", policy(Way::Grand)).expect("grand")),
            mixed: domain.bind_with("mixed", policy(Way::Mixed)).expect("mixed"),
        }
    }
}

/// What `attempt` comes to once it is not ended for its time: a busy machine may take longer for it than a domain's limit.
fn in_time<T, E: std::error::Error>(attempt: impl Fn() -> Result<T, E>) -> T {
    loop {
        match attempt() {
            Ok(value) => return value,
            Err(error) if timed_out(&error) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

fn timed_out(error: &dyn std::error::Error) -> bool {
    error.to_string().contains("exceeded its time limit") || error.source().is_some_and(timed_out)
}

/// Links all with all, themselves included, by imports and by function pointers.
fn link(domains: &[Domain], edges: &Edges) -> Vec<Callback> {
    let mut pointers = Vec::new();
    for (from, client) in domains.iter().enumerate().filter(|(from, _)| *from != HOSTILE) {
        let point = client.bind::<extern "C" fn(u64, lockgate::Pointer<u8>)>("point").expect("point");
        for (to, server) in domains.iter().enumerate() {
            for (way, name, _) in PROTOTYPES.iter().filter(|(way, ..)| (to, *way) != (HOSTILE, Way::Grand)) {
                let edge = edges.edge(from, to, *way);
                let linked = client.link(
                    &format!("{name}{to}"),
                    server,
                    &crate::common::said(client, &format!("{name}{to}"), name),
                    edge.policy,
                    edge.on_failure,
                );
                linked.unwrap_or_else(|error| panic!("{name} of d{to}: {error}"));
            }
            let edge = edges.edge(from, to, Way::Pointer);
            let prototype = PROTOTYPES[0].2.replace("NAME", "plain");
            let pointer =
                client.function_pointer(server, &prototype, edge.policy, edge.on_failure).expect("a pointer");
            in_time(|| point.call(to as u64, pointer.pointer()));
            pointers.push(pointer);
        }
    }
    pointers
}

/// Makes a call with values in all registers that calls keep; says what is not as it was.
fn intact<T>(seed: u64, call: impl FnOnce() -> T) -> T {
    let canary: [u64; 8] = std::array::from_fn(|i| mix(seed, 200 + i as u64));
    let canary = std::hint::black_box(canary);
    let mut result = None;
    if !host_sys::callee_saved_survive(|| result = Some(call())) {
        report(format!("a host frame's registers are not intact, seed {seed:#x}"));
    }
    if canary != std::array::from_fn(|i| mix(seed, 200 + i as u64)) {
        report(format!("a host frame's locals are not intact, seed {seed:#x}"));
    }
    let (now, own) = (host_sys::cpu_state(), STATE.get());
    if now != own {
        report(format!("after a call, the host's state is {now:x?} instead of {own:x?}, seed {seed:#x}"));
    }
    if host_sys::x87_sum() != 36.0 {
        report(format!("after a call, the x87's registers are not empty, seed {seed:#x}"));
    }
    result.expect("the call came back")
}

/// A frame of the host's, called by a domain.
fn host_frame(seed: u64, order: u64) -> u64 {
    let (now, own) = (host_sys::cpu_state(), STATE.get());
    if now != own {
        report(format!(
            "in a host function, the host's state is {now:x?} instead of {own:x?}, seed {seed:#x}"
        ));
    }
    let world = WORLD.with_borrow(Clone::clone).expect("threads run in a world");
    model::children(seed, order, 3).fold(model::start(seed, HOST), |result, child| {
        let (to, way) = model::target(child, WAYS.len() - 2);
        let value = match intact(child, || world.enter(to, way, child, order - 1)) {
            Ok(value) => value,
            Err(error) => End::of(&error).value(),
        };
        model::join(result, value)
    })
}

/// True if a call in it failed.
pub fn is_tainted(value: u64) -> bool {
    value & TAINT != 0
}
