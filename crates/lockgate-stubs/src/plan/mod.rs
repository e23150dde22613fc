//! How everything crosses the boundary: one decision for each parameter, result and field, or a refusal.
//!
//! Two points of view. What goes *in*, from the program to the library, is a [`Passing`]; what comes *out* is an
//! [`Outcome`], which may be anything and is checked. The parameters of callbacks are outcomes, their results go in.
mod by_value;
mod contract;
mod effects;
mod failure;
mod keep;
mod layout;
mod outcome;
mod pairs;
mod passing;
mod places;
mod record;
mod sizes;
mod texts;

use crate::annotation::{Format, Notes};
use crate::expression::{Expression, Operator, Told};
use crate::header::model::{CType, Function, Header, Parameter, Place, Prototype, Shape, Value};
pub use by_value::prototype;
pub use contract::agree;
pub use passing::handle_name;
use places::Place as Stands;
pub use record::TEXT;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What stubs are made from.
#[derive(Debug, Default)]
pub struct Plan {
    /// Functions with stubs, in the header's order.
    pub functions: Vec<FunctionPlan>,
    /// Functions of the program that the library may call, by name of their type.
    pub callbacks: BTreeMap<String, CallbackPlan>,
    /// Functions of the program that the library calls by name.
    pub gates: Vec<CallbackPlan>,
    /// Structures that cross, by their keys.
    pub records: BTreeMap<String, RecordPlan>,
    /// Types of handles: a handle's number is its place here, from 1.
    pub handles: Vec<String>,
    /// Functions that the annotations leave out, and why.
    pub omitted: Vec<(String, String)>,
    /// What cannot be done soundly.
    pub refusals: Vec<Refusal>,
    /// Enumerations by [`CType::enumeration`].
    pub enumerations: BTreeMap<String, Vec<(String, i128)>>,
    /// Constants of the header.
    pub constants: Vec<(String, Value)>,
    /// What names in annotations' expressions stand for: a number, and whether a macro makes it.
    pub numbers: BTreeMap<String, (i128, bool)>,
    /// Types of functions and of fields without typedefs: [`Header::bare`].
    pub bare: BTreeMap<String, String>,
    /// Functions of both kinds.
    pub left_out: Vec<LeftOut>,
    /// Name of the library and options of its domain.
    pub library: Option<(String, Vec<String>)>,
    /// Functions to which the program gives back what is its own.
    pub freers: BTreeSet<String>,
    /// What is remembered of handles, as expressions ask for it: function and what of it.
    pub told: Vec<(String, String)>,
    facts: std::sync::OnceLock<Facts>,
}

/// Something that cannot be done soundly.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {declaration}: {reason}; {remedy}")]
pub struct Refusal {
    /// Where it is declared.
    pub place: Place,
    /// Function that gets no stub.
    pub function: String,
    /// What exactly: `function`, `function: parameter p`.
    pub declaration: String,
    /// Why.
    pub reason: String,
    /// What its author can do.
    pub remedy: String,
}

/// A function without a stub.
#[derive(Debug, Clone)]
pub struct LeftOut {
    /// Its name.
    pub name: String,
    /// As it is declared.
    pub prototype: Prototype,
    /// Why.
    pub reason: String,
    /// What a failing stub returns; `None` for `void`.
    pub error: Option<String>,
}

/// Why, and what to do; [`Refusal`] adds where.
#[derive(Debug, Clone, PartialEq, Eq)]
struct No {
    reason: String,
    remedy: String,
}

fn no<T>(reason: impl Into<String>, remedy: impl Into<String>) -> Result<T, No> {
    Err(No { reason: reason.into(), remedy: remedy.into() })
}

/// A stub.
#[derive(Debug, Clone)]
pub struct FunctionPlan {
    /// The function's name.
    pub name: String,
    /// As it is declared.
    pub prototype: Prototype,
    /// How each parameter goes in (and comes back).
    pub parameters: Vec<Passing>,
    /// How the result comes out.
    pub result: Outcome,
    /// The result when the call fails: an expression of C; `None` for `void`.
    pub error: Option<String>,
    /// The library's errno becomes the thread's.
    pub errno: bool,
    /// The result must not be larger.
    pub at_most: Option<Expression>,
    /// Number of the parameter with printf's format; `...` follows.
    pub format: Option<usize>,
    /// The variable arguments are copied, for another function of the library's.
    pub formatted: Option<Formatted>,
    /// The result, a handle, shows what this handle shows.
    pub shown: Option<String>,
    /// Isolation asked for: an expression of lockgate.h's policies.
    pub policy: Option<String>,
    /// The handle that it gives stays the library's: the program need not release it.
    pub borrowed: bool,
    /// What the header says of it.
    pub comment: Option<String>,
    /// The handle among the parameters to whose jmp_buf it may jump.
    pub jumps: Option<String>,
    /// Parameters, and `result`, whose contents the program gives to `free`.
    pub freed: BTreeSet<String>,
    /// The same where it gives them back, with the function of the header's that takes each.
    pub owned: BTreeMap<String, String>,
    /// Names that sizes and bounds speak of.
    pub counted: BTreeSet<String>,
}

impl FunctionPlan {
    /// It takes a `FILE`.
    pub fn has_streams(&self) -> bool {
        self.parameters.iter().any(|passing| matches!(passing, Passing::Stream { .. }))
    }

    /// What `name` is given, a parameter or `result`, stays the library's.
    pub fn is_borrowed(&self, name: &str) -> bool {
        match self.prototype.parameters.iter().find(|parameter| parameter.name == *name) {
            Some(parameter) => parameter.notes.borrowed,
            None => self.borrowed,
        }
    }

    /// It makes a handle that is the program's, of this type or any.
    pub fn makes(&self, number: Option<usize>) -> bool {
        let of = |outcome: &Outcome| match outcome {
            Outcome::Handle { number: own, .. } => number.is_none_or(|number| *own == number),
            _ => false,
        };
        let set = |passing: &Passing| matches!(passing, Passing::Pointer { after, .. } if of(after));
        let mut parameters = self.prototype.parameters.iter().zip(&self.parameters);
        of(&self.result) && !self.borrowed
            || parameters.any(|(parameter, passing)| set(passing) && !parameter.notes.borrowed)
    }

    /// Parameters that are structures of this type which the library remembers, and may change without following anything.
    pub fn remembered(&self, wanted: &str) -> impl Iterator<Item = &str> {
        let planned = self.prototype.parameters.iter().zip(&self.parameters);
        let wanted = planned.filter(move |(_, passing)| {
            matches!(passing, Passing::Record { key, buffer, kept: true, .. } if key == wanted && buffer.writes && !buffer.reads)
        });
        wanted.map(|(parameter, _)| parameter.name.as_str())
    }

    /// The library keeps a `FILE` that it is given.
    pub fn keeps_stream(&self) -> bool {
        self.parameters.iter().any(|passing| matches!(passing, Passing::Stream { kept: true }))
    }

    /// What `name` leads to is the program's until it ends that.
    pub fn is_to_end(&self, name: &str) -> bool {
        self.freed.contains(name) || self.owned.contains_key(name)
    }
}

impl CallbackPlan {
    /// It gets the program's own data.
    pub fn takes_data(&self) -> bool {
        self.parameters.iter().any(|outcome| matches!(outcome, Outcome::Data { .. }))
    }
}

/// Variable arguments, or a `va_list`, that a format describes.
#[derive(Debug, Clone, PartialEq)]
pub struct Formatted {
    /// The parameter with the format.
    pub format: String,
    /// The parameter with the `va_list`; `None` for `...`.
    pub list: Option<String>,
    /// Who gets them, and which letters mean what.
    pub by: Format,
}

/// A function of the program that the library may call.
#[derive(Debug, Clone)]
pub struct CallbackPlan {
    /// Name of its type, a word of C.
    pub name: String,
    /// As it is declared.
    pub prototype: Prototype,
    /// How each parameter reaches the program.
    pub parameters: Vec<Outcome>,
    /// How the result goes back.
    pub result: Passing,
    /// Their places, each behind those that its size follows.
    pub order: Vec<usize>,
    /// Names that sizes follow.
    pub followed: BTreeSet<String>,
}

/// A structure with something in it that is not plain.
#[derive(Debug, Clone)]
pub struct RecordPlan {
    /// How C names it.
    pub spelling: String,
    /// A word of C that names it.
    pub word: String,
    /// Size, bytes.
    pub size: u64,
    /// Alignment, bytes.
    pub alignment: u64,
    /// Its fields: as declared, how they go in, how they come out.
    pub fields: Vec<FieldPlan>,
    /// Where there are `bool`s in it, however deep: paths of C, `[]` behind arrays of structures. With [`TEXT`] before it: text, which ends there.
    pub bools: Vec<String>,
    /// An array of characters in it of which is not said whether it is text.
    pub vague: Option<Vague>,
    /// Their places, each behind those that its size follows.
    pub order: Vec<usize>,
    /// Names that sizes follow.
    pub followed: BTreeSet<String>,
    /// Where its numbers lie, those of structures in it, too: from which byte, how many bytes, and how long each is.
    pub numbers: Vec<[u64; 3]>,
}

/// An array of characters of which is not said whether it is text.
#[derive(Debug, Clone)]
pub struct Vague {
    /// Its path.
    pub path: String,
    /// Its structure has a name.
    pub named: bool,
    /// Its characters are wide.
    pub wide: bool,
}

/// One field.
#[derive(Debug, Clone)]
pub struct FieldPlan {
    /// Name.
    pub name: String,
    /// Type as declared.
    pub kind: CType,
    /// Where it begins, bytes.
    pub offset: u64,
    /// How it goes in.
    pub passing: Passing,
    /// How it comes out.
    pub outcome: Outcome,
    /// It moves on behind what was read or written.
    pub cursor: bool,
    /// It is a buffer, or says how large one is.
    pub of_buffer: bool,
}

impl RecordPlan {
    /// True if all of it can be copied as it is.
    pub fn is_plain(&self) -> bool {
        self.fields.iter().all(|field| field.passing == Passing::Value)
    }
}

/// A piece of memory that goes in.
#[derive(Debug, Clone, PartialEq)]
pub struct Buffer {
    /// The library reads it.
    pub reads: bool,
    /// The library writes it.
    pub writes: bool,
    /// Elements; `None` is one.
    pub size: Option<Expression>,
    /// Elements it has after the call.
    pub written: Option<Expression>,
    /// Bytes of an element.
    pub element: u64,
    /// May be null.
    pub nullable: bool,
    /// What the client's function is called that makes its `bool`s 0 or 1, if it has any.
    pub bools: Option<String>,
    /// It is not copied: it lies in memory that the library has, too.
    pub shared: bool,
}

/// How something goes from the program to the library. Null pointers go as they are: what they mean is the library's affair.
#[derive(Debug, Clone, PartialEq)]
pub enum Passing {
    /// By value.
    Value,
    /// Nothing: it must be null.
    Null,
    /// Nothing: zero, whatever it is.
    Ignore,
    /// A string, copied.
    String {
        /// Without a zero it ends after so many characters.
        most: Option<Expression>,
    },
    /// Memory, copied there, back, or both.
    Buffer(Buffer),
    /// One number, copied there, back, or both.
    Scalar(Buffer),
    /// A structure, or an array of them, copied field by field.
    Record {
        /// Its key.
        key: String,
        /// Direction, size, nullness.
        buffer: Buffer,
        /// The library knows it by its address.
        kept: bool,
        /// Its life ends here.
        release: bool,
    },
    /// An array of pointers to such memory, or (no size) to strings.
    Rows {
        /// Pointers.
        count: Expression,
        /// What each leads to.
        each: Buffer,
        /// Each is a string.
        strings: bool,
    },
    /// A pointer variable that leads into a buffer, and that the library moves on over what it has read or written.
    Cursor(Buffer),
    /// A `FILE`: the library gets a stream of its own, which reads and writes the program's.
    Stream {
        /// It remembers it.
        kept: bool,
    },
    /// A handle, looked up.
    Handle {
        /// Its type.
        number: usize,
        /// Its life ends here.
        release: bool,
        /// The library forgets here what was given with it alone.
        reset: bool,
        /// Handlers get it, from now on, in place of data.
        data: bool,
    },
    /// A place in the library's memory that it has given out.
    Inside {
        /// If the function succeeds, the program has it no more.
        release: bool,
    },
    /// A pointer variable that the library sets (and may read first, if a handle is in it).
    Pointer {
        /// What is in it before the call, if the library reads it.
        before: Option<Box<Passing>>,
        /// What is in it afterwards.
        after: Box<Outcome>,
    },
    /// A function of the program.
    Callback {
        /// Its type.
        name: String,
    },
    /// The program's own pointer, as a token.
    Data {
        /// A handle through which the program reads it back.
        shown: Option<String>,
        /// Where there is no handle, it is given for good, not for the call.
        kept: bool,
        /// Where there is a handle, it is given for the call all the same.
        for_call: bool,
    },
    /// Called here, after the call, with the object of another parameter.
    Dispose {
        /// The parameter.
        object: String,
        /// What the library gets.
        copy: String,
    },
}

/// How something comes from the library to the program.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Nothing.
    Void,
    /// By value; any value is possible.
    Value,
    /// A string, copied out.
    String {
        /// May be null.
        nullable: bool,
    },
    /// Strings, copied out: so many, or up to a null pointer.
    Strings {
        /// How many.
        count: Option<Expression>,
        /// The array may be null.
        nullable: bool,
        /// Each may be.
        holes: bool,
        /// There is an even number of them.
        pairs: bool,
    },
    /// Memory, copied out (and back again, if the program writes it).
    Memory {
        /// Elements, bytes of an element.
        buffer: Buffer,
    },
    /// Memory of the library's that the program fills until the next call.
    Lent {
        /// Bytes.
        size: Expression,
    },
    /// A structure, or an array of them, copied out.
    Record {
        /// Its key.
        key: String,
        /// Elements.
        count: Count,
        /// May be null.
        nullable: bool,
    },
    /// A structure that the program fills for the library.
    Filled {
        /// Its key.
        key: String,
    },
    /// A handle: noted as given out.
    Handle {
        /// Its type.
        number: usize,
        /// May be null.
        nullable: bool,
    },
    /// An array of handles.
    Handles {
        /// Their type.
        number: usize,
        /// How many.
        count: Expression,
    },
    /// The program's own pointer back: of a function's or a field's, one that was given to these.
    Data {
        /// Functions, or the field itself; none for what a callback gets.
        by: Vec<String>,
    },
    /// The function that the program gave.
    Callback {
        /// Its type.
        name: String,
    },
    /// A place within the object of a parameter.
    Within {
        /// The parameter.
        object: String,
        /// Elements that are there; `None` is one.
        count: Option<Expression>,
        /// Bytes of an element.
        element: u64,
    },
    /// A place in the library's memory, without contents.
    Inside,
    /// The jmp_buf of a handle: the program's own.
    JumpBuffer {
        /// The parameter with the handle.
        handle: String,
    },
    /// Where a callback jumps to.
    Jump,
    /// The program's stays as it is.
    Untouched,
}

/// How many structures the library gives out.
#[derive(Debug, Clone, PartialEq)]
pub enum Count {
    /// One.
    One,
    /// So many.
    Of(Expression),
    /// Up to the one with zero in this field.
    Until(String),
}

/// What follows from the whole plan and is asked for each function again.
#[derive(Debug, Default)]
struct Facts {
    follows_handles: bool,
    has_streams: bool,
    keeps_streams: bool,
    /// Sizes go by the word of functions that only look.
    steady: bool,
    jumps: bool,
    /// Of some functions the compiler concludes that they call back nothing, and there is something that could be called.
    silent: bool,
    lends: bool,
    /// Functions that say how large something is, with the bytes of an element.
    asked: BTreeMap<String, u64>,
    /// Functions that say how much of what is the program's goes back.
    asked_of_own: BTreeSet<String>,
    /// Keys of structures of which there are arrays that end with a zero.
    ends: BTreeSet<String>,
    /// Handles that things are remembered for.
    carries: BTreeSet<usize>,
    /// Keys of structures that the library remembers until a function releases them.
    released: BTreeSet<String>,
}

impl Facts {
    fn of(plan: &Plan) -> Facts {
        let mut facts = Facts::default();
        let passed = |passing: &Passing| {
            matches!(
                passing,
                Passing::Data { .. } | Passing::Stream { .. } | Passing::Handle { data: true, .. }
            )
        };
        let passings = || plan.functions.iter().flat_map(|function| &function.parameters);
        facts.released = passings()
            .filter_map(|passing| match passing {
                Passing::Record { key, kept: true, release: true, .. } => Some(key.clone()),
                _ => None,
            })
            .collect();
        let fields = || plan.records.values().flat_map(|record| &record.fields);
        facts.keeps_streams = plan.functions.iter().any(FunctionPlan::keeps_stream);
        facts.jumps = plan.functions.iter().any(|function| function.jumps.is_some());
        facts.has_streams = plan.functions.iter().any(FunctionPlan::has_streams);
        facts.silent = plan.functions.iter().any(|function| function.prototype.silent)
            && (plan.has_callbacks() || facts.has_streams);
        facts.lends = plan.functions.iter().any(|function| matches!(function.result, Outcome::Lent { .. }));
        for asking in &plan.functions {
            let parameters = asking.prototype.parameters.iter().zip(&asking.parameters);
            let inside = parameters.filter(|(_, passing)| matches!(passing, Passing::Inside { .. }));
            let sizes = inside.filter_map(|(parameter, _)| parameter.notes.size.as_ref());
            facts.asked_of_own.extend(sizes.flat_map(|size| size.called()).map(str::to_owned));
        }
        let jump_buffer = |f: &FunctionPlan| matches!(f.result, Outcome::JumpBuffer { .. });
        facts.follows_handles = !plan.told.is_empty()
            || facts.lends
            || plan.functions.iter().any(jump_buffer)
            || passings().any(|passing| facts.is_kept(passing))
            || plan
                .functions
                .iter()
                .any(|f| matches!(f.result, Outcome::Data { .. }) || f.parameters.iter().any(passed))
            || fields().any(|field| passed(&field.passing));
        let tellers: BTreeSet<&str> = plan.told.iter().map(|(teller, _)| teller.as_str()).collect();
        for function in &plan.functions {
            let results = std::iter::once(&function.result);
            results.chain(function.parameters.iter().filter_map(after)).for_each(|o| facts.outcome(plan, o));
            let tells = tellers.contains(function.name.as_str());
            facts.function(plan, function, tells);
            facts.steady |= tells && plan.is_steady(function);
        }
        let called = plan.callbacks.values().chain(&plan.gates);
        called.flat_map(|callback| &callback.parameters).for_each(|outcome| facts.outcome(plan, outcome));
        // (Sizes in structures call no function.)
        let ending = fields().filter_map(|field| ends(&field.outcome));
        facts.ends.extend(ending.map(str::to_owned));
        facts
    }

    /// A structure that the library remembers as long as a handle.
    fn is_kept(&self, passing: &Passing) -> bool {
        matches!(passing, Passing::Record { key, kept: true, .. } if !self.released.contains(key))
    }

    fn outcome(&mut self, plan: &Plan, outcome: &Outcome) {
        self.ends.extend(ends(outcome).map(str::to_owned));
        let (size, element) = match outcome {
            Outcome::Memory { buffer } => (buffer.size.as_ref(), buffer.element),
            Outcome::Record { key, count: Count::Of(count), .. } => {
                (Some(count), plan.records.get(key).map_or(1, |record| record.size.max(1)))
            }
            _ => return,
        };
        for name in size.into_iter().flat_map(Expression::called) {
            let known = self.asked.entry(name.to_owned()).or_default();
            *known = element.max(*known);
        }
    }

    /// For the handles of `function` something is remembered: a second one that is the same would end it, or replace it, under the first one's user.
    fn function(&mut self, plan: &Plan, function: &FunctionPlan, told: bool) {
        let data = |passing: &Passing| matches!(passing, Passing::Data { .. });
        let with_data = |key: &String| {
            plan.records.get(key).is_some_and(|record| record.fields.iter().any(|field| data(&field.passing)))
        };
        // (What the library calls may fill a structure with data, which is the call's.)
        let fills = |name: &String| {
            let filled = |outcome: &Outcome| matches!(outcome, Outcome::Filled { key } if with_data(key));
            plan.callbacks.get(name).is_some_and(|callback| callback.parameters.iter().any(filled))
        };
        let given = |passing: &Passing| match passing {
            Passing::Data { .. } | Passing::Handle { data: true, .. } | Passing::Stream { kept: true } => {
                true
            }
            Passing::Record { key, .. } => self.is_kept(passing) || with_data(key),
            Passing::Callback { name } => fills(name),
            _ => false,
        };
        let own = matches!(function.result, Outcome::Lent { .. } | Outcome::JumpBuffer { .. });
        if !told && !own && !function.parameters.iter().any(given) {
            return;
        }
        let number = |outcome: &Outcome| match outcome {
            Outcome::Handle { number, .. } => Some(*number),
            _ => None,
        };
        let first = function.parameters.iter().find_map(|passing| match passing {
            Passing::Handle { number, .. } => Some(*number),
            Passing::Pointer { before: Some(before), .. } => match **before {
                Passing::Handle { number, .. } => Some(number),
                _ => None,
            },
            _ => None,
        });
        self.carries.extend(first);
        self.carries.extend(number(&function.result).filter(|_| !function.borrowed));
        let parameters = function.prototype.parameters.iter().zip(&function.parameters);
        self.carries.extend(parameters.filter_map(|(parameter, passing)| match passing {
            Passing::Pointer { after, .. } if !parameter.notes.borrowed => number(after),
            _ => None,
        }));
    }
}

impl Passing {
    /// A handle, or a pointer to one, goes in.
    pub fn is_handle(&self) -> bool {
        match self {
            Passing::Handle { .. } => true,
            Passing::Pointer { before, .. } => before.is_some(),
            _ => false,
        }
    }
}

/// What is in a pointer variable after the call.
fn after(passing: &Passing) -> Option<&Outcome> {
    match passing {
        Passing::Pointer { after, .. } => Some(after),
        _ => None,
    }
}

/// The structure whose arrays end with a zero in it.
fn ends(outcome: &Outcome) -> Option<&str> {
    match outcome {
        Outcome::Record { key, count: Count::Until(_), .. } => Some(key),
        _ => None,
    }
}

impl Plan {
    fn facts(&self) -> &Facts {
        self.facts.get_or_init(|| Facts::of(self))
    }

    /// Leaves out all functions but these.
    pub fn keep(&mut self, names: &BTreeSet<String>) {
        self.functions.retain(|function| names.contains(&function.name));
        self.refusals.retain(|refusal| names.contains(&refusal.function));
        self.left_out.retain(|left_out| names.contains(&left_out.name));
        self.facts.take();
    }

    /// Some function takes a `FILE`.
    pub fn has_streams(&self) -> bool {
        self.facts().has_streams
    }

    /// Data, streams and what was told are for the handle that they were given for: the client keeps in mind whose call it is.
    pub fn follows_handles(&self) -> bool {
        self.facts().follows_handles
    }

    /// What callbacks are given depends on the call that they come from.
    pub fn follows_calls(&self) -> bool {
        self.calls_back() || self.follows_handles() || self.facts().jumps
    }

    /// The library has functions of the program's that it may call, or streams of the program's, which may have functions of their own.
    pub fn calls_back(&self) -> bool {
        self.has_callbacks() || self.has_streams()
    }

    fn has_callbacks(&self) -> bool {
        !(self.callbacks.is_empty() && self.gates.is_empty())
    }

    /// Some functions call back nothing, as compilers go by it, though the library could.
    pub fn has_silent(&self) -> bool {
        self.facts().silent
    }

    /// The library keeps streams of the program's.
    pub fn keeps_streams(&self) -> bool {
        self.facts().keeps_streams
    }

    /// The library lends memory to the program.
    pub fn lends(&self) -> bool {
        self.facts().lends
    }

    /// `function` says how large something is that the library gives: the program will ask it, too. The bytes of an element, if it could say more than what
    /// copies are followed by, zeros as far as a window.
    pub fn asked(&self, function: &FunctionPlan) -> Option<u64> {
        let element = *self.facts().asked.get(&function.name)?;
        let result = &function.prototype.result;
        let most = match result.shape {
            Shape::Integer { signed, .. } => 1_u128 << (8 * result.size - u64::from(signed)),
            _ => u128::MAX >> 64,
        };
        (most * u128::from(element) > 1 << 32).then_some(element)
    }

    /// `function` says how much of what is the program's goes back: the program, which asks it, too, hears of no more than it has.
    pub fn asked_of_own(&self, function: &str) -> bool {
        self.facts().asked_of_own.contains(function)
    }

    /// After a fault the next call begins a new domain.
    pub fn restarts(&self) -> bool {
        self.library.iter().any(|(_, options)| options.iter().any(|option| option == "restart"))
    }

    /// The library gives arrays of this structure that end with a zero in it.
    pub fn ends_by_itself(&self, wanted: &str) -> bool {
        self.facts().ends.contains(wanted)
    }

    /// Data, streams, numbers, lent memory or a jmp_buf are remembered for handles of this type: no two may be the same.
    pub fn carries(&self, number: usize) -> bool {
        self.facts().carries.contains(&number)
    }

    /// No function releases structures of this type that the library remembers: they end with the handle that they come with.
    pub fn ends_with_handle(&self, key: &str) -> bool {
        !self.facts().released.contains(key)
    }

    /// The library remembers structures of this type.
    pub fn keeps(&self, wanted: &str) -> bool {
        let passings = self.functions.iter().flat_map(|function| &function.parameters);
        passings
            .into_iter()
            .any(|passing| matches!(passing, Passing::Record { key, kept: true, .. } if key == wanted))
    }

    /// The library may make one of these structures like another, with its buffers: it remembers both, and follows neither.
    pub fn copies(&self, key: &str) -> bool {
        let fields = &self.records[key].fields;
        fields.iter().any(|field| matches!(field.passing, Passing::Buffer(_)))
            && self.functions.iter().any(|function| function.remembered(key).count() > 1)
    }

    /// It only looks at its handles, and answers by nothing but those and numbers: asked again, it says the same.
    pub fn is_steady(&self, function: &FunctionPlan) -> bool {
        let looks = |(parameter, passing): (&Parameter, &Passing)| match passing {
            Passing::Handle { release, data, .. } => {
                !release && !data && parameter.kind.pointee().is_some_and(|to| to.constant)
            }
            Passing::Value => parameter.kind.is_integer(),
            Passing::Scalar(_) | Passing::Ignore | Passing::Null => true,
            Passing::Pointer { before, .. } => before.is_none(),
            _ => false,
        };
        function.prototype.parameters.iter().zip(&function.parameters).all(looks)
            && function.parameters.iter().any(Passing::is_handle)
    }

    /// Sizes go by the word of such a function.
    pub fn has_steady(&self) -> bool {
        self.facts().steady
    }

    /// The place of what `told` speaks of.
    pub fn told_at(&self, told: &Told) -> Option<usize> {
        self.told.iter().position(|(function, what)| *function == told.function && *what == told.what)
    }

    /// The number of a record's type, from 1.
    pub fn record_number(&self, key: &str) -> usize {
        1 + self.records.keys().position(|known| known == key).unwrap_or(0)
    }

    /// The number of a type of callbacks, from 1.
    pub fn callback_number(&self, name: &str) -> usize {
        1 + self.callbacks.keys().position(|known| known == name).unwrap_or(0)
    }
}

/// Plans stubs for all functions of `header`.
pub fn plan(header: &Header) -> Plan {
    let mut planner = Planner::new(
        header,
        Plan {
            library: header.library.clone(),
            enumerations: header.enumerations.clone(),
            constants: header.constants.clone(),
            numbers: header.numbers.clone(),
            bare: header.bare.clone(),
            ..Plan::default()
        },
    );
    for function in &header.functions {
        planner.function(function);
    }
    planner.look_at_all();
    planner.plan
}

/// Plans one domain of a program: stubs for all functions of `header` but those in `gates`, which the domain calls.
pub fn plan_domain(header: &Header, name: &str, options: &[String], gates: &BTreeSet<String>) -> Plan {
    let library = Some((name.to_owned(), options.to_vec()));
    let plan = Plan { library, bare: header.bare.clone(), ..Plan::default() };
    let mut planner = Planner::new(header, plan);
    for function in &header.functions {
        if gates.contains(&function.name) {
            planner.gate(function);
        } else {
            planner.function(function);
        }
    }
    planner.look_at_all();
    planner.gates_are_given_no_data();
    // (The program is compiled with its own headers, which stay as they are.)
    let never_null = |f: &&Function| {
        // (Behind its casts, and what `NULL` stands for has some.)
        let bare = |error: &String| {
            let inner = error.trim_end_matches([')', ' ']).rsplit(')').next().unwrap_or_default();
            inner.trim_start_matches(['(', ' ']).to_owned()
        };
        let is_null = |error: &String| bare(error).starts_with(['0', 'N', 'n']);
        f.prototype.never_null && !gates.contains(&f.name) && f.notes.error.as_ref().is_none_or(is_null)
    };
    for function in header.functions.iter().filter(never_null) {
        planner.refuse_after_all(
            &function.name,
            "result",
            "by returns_nonnull the program's compiler takes the result for never null, and it is null where the domain fails".into(),
            "remove the attribute, or add LG_ERROR(value) with a value that is not null",
        );
    }
    for function in header.functions.iter().filter(|f| f.prototype.aligned && !gates.contains(&f.name)) {
        planner.refuse_after_all(
            &function.name,
            "result",
            "by assume_aligned or alloc_align the program's compiler takes the result for aligned, and a domain's pointer is aligned for its type only".into(),
            "remove the attribute",
        );
    }
    planner.plan
}

/// Keys that have come to a plan.
#[derive(Default)]
struct Added {
    callbacks: Vec<String>,
    records: Vec<String>,
}

/// Makes the plan.
struct Planner<'a> {
    header: &'a Header,
    plan: Plan,
    /// Types of callbacks that are being planned, outermost first.
    callbacks: Vec<String>,
    /// Structures that are being planned, outermost first.
    records: Vec<String>,
    /// Types of callbacks and structures that were planned for this function.
    added: Added,
    /// Numbers of handles' types.
    handles: HashMap<String, usize>,
}

impl<'a> Planner<'a> {
    fn new(header: &'a Header, plan: Plan) -> Self {
        Planner {
            header,
            plan,
            callbacks: Vec::new(),
            records: Vec::new(),
            added: Added::default(),
            handles: HashMap::new(),
        }
    }

    /// What can be said when all functions are planned.
    fn look_at_all(&mut self) {
        self.who_gave();
        self.no_pairs_come_out();
        self.functions_come_back_alone();
        self.who_gave_fields();
    }

    fn function(&mut self, function: &Function) {
        let left_out = |planner: &mut Self, reason: &str| {
            planner.plan.left_out.push(LeftOut {
                name: function.name.clone(),
                prototype: function.prototype.clone(),
                reason: reason.to_owned(),
                error: planner.error(function),
            });
        };
        if let Some(why) = &function.notes.omit {
            left_out(self, why);
            self.plan.omitted.push((function.name.clone(), why.clone()));
            return;
        }
        self.added = Added::default();
        match self.try_function(function) {
            Ok(plan) => self.plan.functions.push(plan),
            Err((what, No { reason, remedy })) => {
                self.take_back();
                left_out(self, &reason);
                self.plan.refusals.push(Refusal {
                    place: function.place.clone(),
                    function: function.name.clone(),
                    declaration: what
                        .map_or(function.name.clone(), |what| format!("{}: {what}", function.name)),
                    reason,
                    remedy,
                });
            }
        }
    }

    /// A function that the domain calls by name is planned like a callback of a type of its own.
    fn gate(&mut self, function: &Function) {
        let Function { name, prototype, notes, place, .. } = function;
        self.added = Added::default();
        let names = prototype.parameters.iter().map(|parameter| &parameter.name);
        let ours = std::iter::once(name).chain(names).find(|name| crate::name::is_ours(name));
        let is_named = ours.map_or(Ok(()), |ours| Err(is_ours(ours)));
        let plan = is_named
            .and_then(|()| outcome::keeps_errno(notes))
            .and_then(|()| self.called_back(name, prototype.clone()));
        match plan {
            Ok(plan) => self.plan.gates.push(plan),
            Err(No { reason, remedy }) => {
                self.take_back();
                self.plan.refusals.push(Refusal {
                    place: place.clone(),
                    function: name.clone(),
                    declaration: format!("{name}, which the domain calls"),
                    reason,
                    remedy,
                });
            }
        }
    }

    /// Forgets the types planned for a function that is refused: they may rest on what it is refused for.
    fn take_back(&mut self) {
        let Added { callbacks, records } = std::mem::take(&mut self.added);
        callbacks.iter().for_each(|name| drop(self.plan.callbacks.remove(name)));
        records.iter().for_each(|key| drop(self.plan.records.remove(key)));
    }

    fn try_function(&mut self, function: &Function) -> Result<FunctionPlan, (Option<String>, No)> {
        let function = &borrowed_throughout(function);
        let Function { name, prototype, notes, .. } = function;
        let of_function = |no| (None, no);
        let names = prototype.parameters.iter().map(|parameter| &parameter.name);
        if let Some(ours) = std::iter::once(name).chain(names.clone()).find(|name| crate::name::is_ours(name))
        {
            return Err((None, is_ours(ours)));
        }
        let mut taken = None;
        prototype.each_type(&mut |kind| {
            let record = match &kind.pointee().unwrap_or(kind).shape {
                Shape::Record(key) => Some(key.rsplit(' ').next().unwrap_or(key).to_owned()),
                _ => None,
            };
            let mut all = kind.names.iter().cloned().chain(record);
            taken = taken.take().or_else(|| all.find(|name| crate::name::is_ours(name)));
        });
        if let Some(ours) = taken {
            return Err((None, is_ours(&ours)));
        }
        let is_word = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_word(name) {
            return no(
                "its name has characters that prototypes cannot have: they consist of ASCII letters, digits and _",
                "give it another name, or leave the function out with LG_OMIT",
            )
            .map_err(of_function);
        }
        if self.header.renamed.contains(name) {
            return no(
                "it has another name in objects (an asm label): the module has nothing of this name",
                "declare it by that name, or leave it out with LG_OMIT",
            )
            .map_err(of_function);
        }
        if prototype.format {
            return no(
                "its result is a format to the program's compiler (format_arg), so that the library would choose what printf reads and writes of the program's memory",
                "leave it out with LG_OMIT, or remove this attribute from the header if no program takes its result for a format",
            )
            .map_err(of_function);
        }
        if prototype.made {
            return no(
                "an attribute says how the compiler makes it, or that it runs before the program or after it (naked, constructor): it would hold for the stub, which is ordinary C",
                "remove the attribute from the declaration (a definition may have it), or leave the function out with LG_OMIT",
            )
            .map_err(of_function);
        }
        if crate::libc::defines(name) {
            return no(
                "the C library has a function of this name: the stub would be called in its place, in the whole program and in the client itself",
                "leave it out with LG_OMIT",
            )
            .map_err(of_function);
        }
        if let Some(taken) = names.clone().find(|name| crate::name::is_called(name)) {
            return no(
                format!("the stub itself uses {taken}, so no parameter can have this name"),
                "give it another name",
            )
            .map_err(of_function);
        }
        let mut types = BTreeSet::new();
        prototype.each_type(&mut |kind| types.extend(kind.names.iter().cloned()));
        if let Some(hidden) = names.clone().find(|name| types.contains(*name)) {
            return no(
                format!("a parameter called {hidden} hides the type of this name, which the stub needs"),
                "give it another name",
            )
            .map_err(of_function);
        }
        is_of_platform(prototype).map_err(of_function)?;
        places::belong(notes, &prototype.result, Stands::Function).map_err(of_function)?;
        self.asks_in_no_ring(function).map_err(of_function)?;
        let formatted = self.formatted(function).map_err(of_function)?;
        let format = if formatted.is_some() { None } else { self.format(function).map_err(of_function)? };
        let list = formatted.as_ref().and_then(|formatted| formatted.list.as_ref());
        let mut parameters = Vec::new();
        for parameter in &prototype.parameters {
            let planned = if list == Some(&parameter.name) {
                self.known(&parameter.kind.shape).map(|()| Passing::Ignore)
            } else {
                places::belong(&parameter.notes, &parameter.kind, Stands::Parameter)
                    .and_then(|()| places::is_counted(parameter, &self.notes(parameter)))
                    .and_then(|()| self.passing(parameter, &prototype.parameters))
                    .and_then(|passing| {
                        let ways = effects::Ways { passing: Some(&passing), outcome: None };
                        effects::act(&self.all_act(parameter), &parameter.kind, ways).map(|()| passing)
                    })
            };
            let what = |no| (Some(format!("parameter {}", parameter.name)), no);
            let planned = planned.map_err(what)?;
            if matches!(planned, Passing::Stream { .. }) && self.plan.restarts() {
                return Err(what(No {
                    reason: "a FILE, whose stream in the library belongs to one domain, and LG_DOMAIN says restart".into(),
                    remedy: "remove one of them, or leave the function out with LG_OMIT".into(),
                }));
            }
            let shared = matches!(planned, Passing::Buffer(Buffer { shared: true, .. }));
            if shared && notes.expressions().any(|size| size.names().contains(&parameter.name.as_str())) {
                return Err(what(No {
                    reason: "LG_SHARED, but what the function's own annotations say depends on it, and the library can change it".into(),
                    remedy: "remove LG_SHARED: it is copied then".into(),
                }));
            }
            parameters.push(planned);
        }
        self.plan.is_paired(parameters.iter()).map_err(of_function)?;
        let of_result = |no| (Some("result".to_owned()), no);
        let result = Parameter::new("result", prototype.result.clone(), notes.clone());
        let kind = &result.kind;
        let result = self.outcome(&result, &prototype.parameters, true).map_err(of_result)?;
        let ways = effects::Ways { passing: None, outcome: Some(&result) };
        effects::act(notes, kind, ways).map_err(of_result)?;
        // A handle that lives on may have the stream, and use it in later calls: no declaration says.
        let lives = |passing: &Passing| matches!(passing, Passing::Handle { release: false, .. });
        let lives = parameters.iter().any(lives) || matches!(result, Outcome::Handle { .. });
        for (parameter, passing) in prototype.parameters.iter().zip(&parameters) {
            let said = self.notes(parameter);
            let wrong = match (passing, lives) {
                (Passing::Stream { .. }, true) if !said.kept && !said.for_call => no(
                    "a FILE beside a handle: the library may use it after the call",
                    "annotate it with LG_KEPT, or with LG_FOR_CALL if the library does not",
                ),
                (Passing::Stream { .. }, false) if said.for_call => {
                    no("LG_FOR_CALL, but no handle lives on that could have the FILE", "remove it")
                }
                _ => Ok(()),
            };
            wrong.map_err(|no| (Some(format!("parameter {}", parameter.name)), no))?;
        }
        if matches!(result, Outcome::String { .. }) && !notes.string && passing::says_bytes(name) {
            return Err(of_result(No {
                reason: "the function's name says that it may be bytes without an end".into(),
                remedy:
                    "annotate it with LG_STRING if it ends with a zero, or with LG_SIZE(…) if it does not"
                        .into(),
            }));
        }
        self.places_do_not_count(function, &parameters, &result)?;
        let keep::Left { freed, owned } = self.leaves(prototype, notes, &parameters, &result)?;
        let all = prototype.parameters.iter().map(|parameter| &parameter.notes).chain([notes]);
        let counted: BTreeSet<String> =
            all.flat_map(Notes::expressions).flat_map(Expression::names).map(str::to_owned).collect();
        if counted.contains("lg_result") && matches!(prototype.result.shape, Shape::Void | Shape::Record(_)) {
            return no("lg_result, but the function returns no number", "say it with its parameters")
                .map_err(of_function);
        }
        if let Some(most) = &notes.at_most {
            self.check_expression(most, &prototype.parameters).map_err(of_function)?;
        }
        for parameter in &prototype.parameters {
            let Some(most) = self.notes(parameter).at_most else { continue };
            let what = Some(format!("parameter {}", parameter.name));
            let bounded = self.check_expression(&most, &prototype.parameters).and_then(|()| {
                match most.names().contains(&&*parameter.name) {
                    true => no(
                        "LG_AT_MOST speaks of what it bounds: after the call that is what the library has set it to, and no bound",
                        "name another parameter that the library does not set",
                    ),
                    false => Ok(()),
                }
            });
            bounded.map_err(|no| (what, no))?;
        }
        let handles = prototype.parameters.iter().zip(&parameters);
        if let Some((parameter, _)) =
            handles.clone().find(|(parameter, passing)| parameter.notes.jumps && !passing.is_handle())
        {
            let what = Some(format!("parameter {}", parameter.name));
            return no(
                "LG_JUMPS stands on something that is not a handle that goes in",
                "say it of the handle whose jmp_buf is meant",
            )
            .map_err(|no| (what, no));
        }
        let jumps = handles
            .filter(|(_, passing)| passing.is_handle())
            .find(|(parameter, _)| self.notes(parameter).jumps)
            // (The program has yet to call setjmp with what it asks for here; and of what is pure, const or leaf, its compiler knows that it does not
            // jump.)
            .filter(|_| notes.jump_buffer.is_none() && !prototype.silent)
            .map(|(parameter, _)| parameter.name.clone());
        self.failure_is_said(function).map_err(of_result)?;
        self.is_said_by_its_prototype(name, prototype).map_err(of_function)?;
        Ok(FunctionPlan {
            name: name.clone(),
            prototype: prototype.clone(),
            parameters,
            error: self.error(function),
            result,
            errno: notes.errno,
            at_most: notes.at_most.clone(),
            format,
            formatted,
            shown: self.shown(notes, &prototype.parameters).map_err(of_function)?,
            policy: notes.policy.as_deref().map(policy).transpose().map_err(of_function)?,
            borrowed: notes.borrowed,
            comment: function.comment.clone(),
            jumps,
            freed,
            owned,
            counted,
        })
    }

    /// Where the arguments are of a function with a format of the library's own.
    fn formatted(&self, function: &Function) -> Result<Option<Formatted>, No> {
        let Function { prototype, notes, .. } = function;
        let Some(by) = &notes.format else { return Ok(None) };
        let is_list = |p: &&Parameter| p.kind.names.iter().any(|name| name.contains("va_list"));
        let parameters = &prototype.parameters;
        let list = parameters.last().filter(is_list).map(|parameter| parameter.name.clone());
        let before = parameters.len() - usize::from(list.is_some());
        let format =
            parameters[..before].last().filter(|p| p.kind.pointee().is_some_and(CType::is_character));
        let Some(format) = format.filter(|_| list.is_some() != prototype.variadic) else {
            return no(
                "LG_FORMAT, but no format is followed by variable arguments or a va_list",
                "remove it, or name the parameters in this order",
            );
        };
        if self.header.functions.named(&by.list).is_none() {
            return no(format!("LG_FORMAT: {}() is no function of this header", by.list), "name one that is");
        }
        Ok(Some(Formatted { format: format.name.clone(), list, by: by.clone() }))
    }

    /// The handle behind which the program reads data back.
    fn shown(&self, notes: &crate::annotation::Notes, siblings: &[Parameter]) -> Result<Option<String>, No> {
        let Some(shown) = &notes.shown else { return Ok(None) };
        let is_handle = |p: &&Parameter| self.is_handle(&p.kind, &self.notes(p));
        match siblings.iter().find(|s| s.name == *shown).filter(is_handle) {
            Some(_) => Ok(Some(shown.clone())),
            None => no(format!("LG_SHOWN names no handle {shown}"), "name a parameter that is one"),
        }
    }

    /// The parameter with printf's format, for functions with variable arguments.
    fn format(&self, function: &Function) -> Result<Option<usize>, No> {
        let Function { prototype, notes, .. } = function;
        match (prototype.variadic, notes.printf, prototype.parameters.len()) {
            (false, false, _) => Ok(None),
            (true, true, 1..) => Ok(Some(prototype.parameters.len() - 1)),
            (false, true, _) => no("LG_PRINTF, but there are no variable arguments", "remove it"),
            (true, ..) => no(
                "only the function knows the types of its variable arguments",
                "annotate it with LG_PRINTF if the last parameter is a format of printf's, or leave it out with LG_OMIT",
            ),
        }
    }

    /// The value that `LG_ERRORS` says of a type.
    fn error_of_type(&self, result: &CType) -> Option<&String> {
        let mut names = std::iter::once(&result.spelling).chain(&result.names);
        names.find_map(|name| self.header.errors.get(name))
    }

    /// The annotated error value, else that of the result's type, else a documented default.
    fn error(&self, function: &Function) -> Option<String> {
        let result = &function.prototype.result;
        if result.shape == Shape::Void {
            return None;
        }
        if function.notes.jump_buffer.is_some() {
            // The program calls setjmp with it, whatever it is.
            return Some("&lgs_nowhere".to_owned());
        }
        let default = || match &result.shape {
            Shape::Integer { signed: true, .. } => "-1",
            // (Its first field may be none that a zero can stand for.)
            Shape::Record(_) => "{}",
            // Equal to no number, and above and below none.
            Shape::Float => "__builtin_nan(\"\")",
            _ => "0",
        };
        let named = || self.error_of_type(result).cloned();
        Some(function.notes.error.clone().or_else(named).unwrap_or_else(|| default().to_owned()))
    }

    /// What a function returns when its library has failed is the annotations' to say where no value of its type is safe: a program would take it for an answer.
    fn failure_is_said(&self, function: &Function) -> Result<(), No> {
        let Function { name, prototype: Prototype { result, noreturn, .. }, notes, .. } = function;
        if let Some(error) = notes.error.as_ref().or_else(|| self.error_of_type(result)) {
            self.is_of_type(error, result)?;
            let releases = function.prototype.parameters.iter().any(|p| p.notes.release);
            if releases
                && result.is_bool()
                && Expression::parse(error).ok().and_then(|e| self.constant(&e)) != Some(0)
            {
                return no(
                    format!("LG_ERROR({error}): it ends something, and `true` would say that it has not"),
                    "declare the result as a number",
                );
            }
            let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let words: Vec<&str> = error.split(|c| !is_of_word(c)).collect();
            if let Some(own) = function.prototype.parameters.iter().find(|p| words.contains(&&*p.name)) {
                return no(
                    format!("LG_ERROR({error}): `{}` is a parameter, and no constant", own.name),
                    "say a value of the result's type",
                );
            }
        }
        if notes.error.is_some() || notes.jump_buffer.is_some() || *noreturn {
            return Ok(());
        }
        let spelling = &result.spelling;
        if let Some(of_type) = self.error_of_type(result) {
            let is_zero = Expression::parse(of_type).is_ok_and(|value| self.constant(&value) == Some(0));
            if is_zero && result.is_integer() && failure::tells(name) && !failure::counts(name) {
                return no(
                    "its name says that it tells how a call went: 0, which LG_ERRORS says of the type, may be success",
                    "add LG_ERROR(value)",
                );
            }
            return match result.is_integer() && result.enumeration.is_none() && failure::asks(name) {
                false => Ok(()),
                true => no(
                    "its name asks a question: what LG_ERRORS says of the type may be a yes",
                    "add LG_ERROR(value): 0, if that says no",
                ),
            };
        }
        let why = match &result.shape {
            Shape::Integer { .. } if result.is_bool() => return Ok(()),
            Shape::Integer { .. } if result.enumeration.is_some() => {
                "the first of an enumeration is often success"
            }
            // (errno's functions return it.)
            Shape::Integer { signed: true, .. } if notes.errno => return Ok(()),
            Shape::Integer { signed: true, .. } => "-1 is a yes to some callers, and 0 is success to others",
            Shape::Integer { .. } if failure::counts(name) => return Ok(()),
            Shape::Integer { .. } => "0 is success to some callers, and nothing to others",
            Shape::Record(_) => "zeros in a structure are an answer like any other",
            _ => return Ok(()),
        };
        no(
            format!("no annotation says what the stub returns when the library fails: {why}"),
            format!(
                "add LG_ERROR(value) to it, or say LG_ERRORS({spelling}, value); once for all that return `{spelling}`"
            ),
        )
    }

    /// `error` can be what a function returns that returns `kind`. (What has casts in it says its type itself.)
    fn is_of_type(&self, error: &str, kind: &CType) -> Result<(), No> {
        let wrong = |why: String| no(format!("LG_ERROR({error}): {why}"), "say a value of the result's type");
        if error.contains('"')
            && kind.pointee().is_none_or(|to| !to.is_character())
            && !error.starts_with('{')
        {
            return wrong(format!("a string is no `{}`", kind.spelling));
        }
        let Shape::Integer { signed, .. } = kind.shape else { return Ok(()) };
        if error.parse::<f64>().is_ok() && error.contains(['.', 'e', 'E']) {
            return wrong(format!("a `{}` does not hold it", kind.spelling));
        }
        let Ok(expression) = Expression::parse(error) else { return Ok(()) };
        let Some(value) = self.constant(&expression) else {
            // (What names stand for, the header need not say.)
            return match expression.names().is_empty() && expression.called().is_empty() {
                true => wrong("it comes to no number".into()),
                false => Ok(()),
            };
        };
        let bits = if kind.is_bool() { 1 } else { 8 * kind.size };
        let (least, most) = (-(1_i128 << (bits - 1)), (1_i128 << (bits - u64::from(signed))) - 1);
        let least = if kind.is_bool() { 0 } else { least };
        match (least..=most).contains(&value) {
            true => Ok(()),
            false => wrong(format!("a `{}` does not hold it", kind.spelling)),
        }
    }

    /// What a constant expression comes to, where the header says all of it.
    fn constant(&self, expression: &Expression) -> Option<i128> {
        match expression {
            Expression::Number(number) => Some(i128::from(*number)),
            Expression::Name(name) => {
                let of_macro = self.header.constants.iter().find_map(|(known, value)| match value {
                    Value::Integer(value) if known == name => Some(*value),
                    _ => None,
                });
                let mut enumerators = self.header.each_enumerator();
                of_macro.or_else(|| enumerators.find(|(known, _)| *known == name).map(|(_, number)| number))
            }
            Expression::Minus(inner) => self.constant(inner)?.checked_neg(),
            Expression::Not(inner) => Some(i128::from(self.constant(inner)? == 0)),
            Expression::Binary(operator, one, other) => {
                let (one, other) = (self.constant(one)?, self.constant(other)?);
                match operator {
                    Operator::Add => one.checked_add(other),
                    Operator::Subtract => one.checked_sub(other),
                    Operator::Multiply => one.checked_mul(other),
                    Operator::Divide => one.checked_div(other),
                    Operator::Remainder => one.checked_rem(other),
                    Operator::Less => Some(i128::from(one < other)),
                    Operator::LessEqual => Some(i128::from(one <= other)),
                    Operator::Greater => Some(i128::from(one > other)),
                    Operator::GreaterEqual => Some(i128::from(one >= other)),
                    Operator::Equal => Some(i128::from(one == other)),
                    Operator::NotEqual => Some(i128::from(one != other)),
                    Operator::And => Some(i128::from(one != 0 && other != 0)),
                    Operator::Or => Some(i128::from(one != 0 || other != 0)),
                }
            }
            Expression::Conditional(condition, one, other) => {
                self.constant(if self.constant(condition)? != 0 { one } else { other })
            }
            _ => None,
        }
    }

    /// Notes of a declaration, with those on its types.
    fn notes(&self, parameter: &Parameter) -> Notes {
        self.header.notes(parameter)
    }

    /// What is said of it, with those annotations of its types that would be relied upon where they do nothing.
    fn all_act(&self, parameter: &Parameter) -> Notes {
        let all = self.notes(parameter);
        let mut own = parameter.notes.clone();
        if !all.ignore && !all.null {
            (own.kept, own.string, own.strings, own.release) =
                (all.kept, all.string, all.strings, all.release);
        }
        own
    }

    /// The place of what `told` speaks of in [`Plan::told`].
    fn remember(&mut self, told: &Told) {
        if self.plan.told_at(told).is_none() {
            self.plan.told.push((told.function.clone(), told.what.clone()));
        }
    }

    /// The number of a type of handles.
    fn handle(&mut self, spelling: &str) -> usize {
        if let Some(known) = self.handles.get(spelling) {
            return *known;
        }
        self.plan.handles.push(spelling.to_owned());
        self.handles.insert(spelling.to_owned(), self.plan.handles.len());
        self.plan.handles.len()
    }
}

/// `LG_BORROWED` behind a function speaks of all that it gives: its result, and what it sets through pointers.
fn borrowed_throughout(function: &Function) -> Function {
    let mut function = function.clone();
    if function.notes.borrowed {
        let set = |parameter: &&mut Parameter| {
            parameter.notes.direction.is_some_and(crate::annotation::Direction::writes)
                && parameter.notes.freed.is_none()
                && parameter.kind.pointee().is_some_and(|to| to.pointee().is_some())
        };
        let mut any = false;
        for parameter in function.prototype.parameters.iter_mut().filter(set) {
            parameter.notes.borrowed = true;
            any = true;
        }
        function.notes.borrowed = !any || function.prototype.result.pointee().is_some();
    }
    function
}

/// What `LG_POLICY` may say, any of them joined with `|`.
const POLICIES: &[&str] =
    &["DEFAULT", "MUTUAL_TRUST", "SERVER_TRUSTED", "INTEGRITY", "MUTUAL_DISTRUST", "COUNTED", "TIMED"];

/// The policies of an annotation, as lockgate.h spells them.
fn policy(text: &str) -> Result<String, No> {
    let mut names = Vec::new();
    for name in text.split('|').map(str::trim) {
        if !POLICIES.contains(&name) {
            return no(
                format!("LG_POLICY: {name} is no policy"),
                format!("use one of {}", POLICIES.join(", ")),
            );
        }
        names.push(format!("LG_{name}"));
    }
    Ok(names.join(" | "))
}

/// Callers and functions agree on where arguments are.
fn is_of_platform(prototype: &Prototype) -> Result<(), No> {
    match prototype.foreign {
        false => Ok(()),
        true => no(
            "it has another calling convention than the platform's functions (such as ms_abi), and would look for its arguments in other places",
            "remove the attribute, or leave the function out with LG_OMIT",
        ),
    }
}

/// Why a function has no stub whose name, or a parameter's, is one of those that clients have for themselves.
fn is_ours(name: &str) -> No {
    No {
        reason: format!(
            "{name} is Lockgate's own name in clients, as are all that begin with lg_, lgs_ or lockgate_"
        ),
        remedy: "give it another name, or leave the function out with LG_OMIT".into(),
    }
}
