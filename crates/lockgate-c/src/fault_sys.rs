//! `struct lg_fault`: a fault for C.
use crate::c_string::c_string;
use lockgate::{Access, Fault, FaultKind, Registers};
use std::cell::OnceCell;
use std::ffi::{CString, c_char};
use std::ptr;

/// `struct lg_fault` of the header. It may grow at its end, because only the library makes any.
#[repr(C)]
pub struct CFault {
    kind: i32,
    detail: i32,
    report: *const c_char,
    reason: *const c_char,
    domain: *const c_char,
    module: *const c_char,
    entry_point: *const c_char,
    function: *const c_char,
    file: *const c_char,
    line: u32,
    access: i32,
    offset: u64,
    has_address: i32,
    has_instruction: i32,
    address: u64,
    instruction: u64,
    registers: Registers,
}

/// What is known of a fault in a domain of another process.
#[derive(Debug)]
pub(crate) struct Told {
    pub kind: FaultKind,
    pub report: String,
    pub domain: String,
    pub entry_point: String,
}

/// What ended a call.
#[derive(Debug)]
pub(crate) enum Ended {
    Here(Box<Fault>),
    Elsewhere(Box<Told>),
}

/// A fault, and the strings that its C form points to.
pub(crate) struct FaultReport {
    c: CFault,
    _texts: Vec<CString>,
    /// None if it happened in another process.
    fault: Option<Box<Fault>>,
    /// Made when the program asks.
    backtrace: OnceCell<CString>,
}

impl FaultReport {
    pub fn new(ended: Ended) -> FaultReport {
        match ended {
            Ended::Here(fault) => FaultReport::here(fault),
            Ended::Elsewhere(told) => FaultReport::elsewhere(&told),
        }
    }

    fn here(fault: Box<Fault>) -> FaultReport {
        let place = fault.location();
        let mut texts = Vec::new();
        let mut text = |text: Option<&str>| text.map_or(ptr::null(), |text| kept(&mut texts, text));
        let (kind, detail) = kind(fault.kind());
        let c = CFault {
            kind,
            detail,
            report: text(Some(&fault.to_string())),
            reason: text(Some(fault.reason())),
            domain: text(Some(fault.domain())),
            module: text(Some(fault.module())),
            entry_point: text(Some(fault.entry_point())),
            function: text(place.as_ref().and_then(|place| place.function.as_deref())),
            file: text(place.as_ref().and_then(|place| place.file.as_deref())),
            line: place.as_ref().and_then(|place| place.line).unwrap_or(0),
            offset: place.as_ref().map_or(0, |place| place.offset),
            access: match fault.access() {
                None => 0,
                Some(Access::Read) => 1,
                Some(Access::Write) => 2,
                Some(Access::Execute) => 3,
            },
            has_address: fault.address().is_some().into(),
            has_instruction: fault.instruction().is_some().into(),
            address: fault.address().unwrap_or(0),
            instruction: fault.instruction().unwrap_or(0),
            registers: *fault.registers(),
        };
        FaultReport { c, _texts: texts, fault: Some(fault), backtrace: OnceCell::new() }
    }

    /// The other process says kind and report.
    fn elsewhere(told: &Told) -> FaultReport {
        let mut texts = Vec::new();
        let (kind, detail) = kind(told.kind);
        let report = kept(&mut texts, &told.report);
        let c = CFault {
            kind,
            detail,
            report,
            reason: report,
            domain: kept(&mut texts, &told.domain),
            module: kept(&mut texts, ""),
            entry_point: kept(&mut texts, &told.entry_point),
            function: ptr::null(),
            file: ptr::null(),
            line: 0,
            access: 0,
            offset: 0,
            has_address: 0,
            has_instruction: 0,
            address: 0,
            instruction: 0,
            registers: Registers::default(),
        };
        FaultReport { c, _texts: texts, fault: None, backtrace: OnceCell::new() }
    }

    pub fn c(&self) -> *const CFault {
        &raw const self.c
    }

    /// Null of a fault in another process.
    pub fn backtrace(&self) -> *const c_char {
        let Some(fault) = &self.fault else { return ptr::null() };
        self.backtrace.get_or_init(|| c_string(&fault.backtrace().to_string())).as_ptr()
    }
}

/// The string for C, which `texts` keeps.
fn kept(texts: &mut Vec<CString>, text: &str) -> *const c_char {
    let text = c_string(text);
    let at = text.as_ptr();
    texts.push(text);
    at
}

/// `enum lg_fault_kind`, and what the kind tells beside.
fn kind(kind: FaultKind) -> (i32, i32) {
    let number = match kind {
        FaultKind::Segv => 1,
        FaultKind::Bus => 2,
        FaultKind::Fpe => 3,
        FaultKind::Ill => 4,
        FaultKind::Trap => 5,
        FaultKind::StackOverflow => 6,
        FaultKind::ControlStackOverflow => 7,
        FaultKind::Quota => 8,
        FaultKind::TimeOut => 9,
        FaultKind::Exit(_) => 10,
        FaultKind::Abort => 11,
        FaultKind::Signal(_) => 12,
        FaultKind::Killed => 13,
        FaultKind::CpuTime => 14,
        FaultKind::Stopped => 15,
        FaultKind::Gate => 16,
        _ => 0,
    };
    let detail = match kind {
        FaultKind::Exit(status) => status,
        FaultKind::Signal(number) => number.into(),
        _ => 0,
    };
    (number, detail)
}
