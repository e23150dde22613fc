//! The plan: what stubs, bindings and explanations are made from.
use crate::annotation::{Direction, Format, Notes};
use crate::expression::{Expression, Told};
use crate::header::model::{CType, Parameter, Place, Prototype, Shape, Value};
use std::collections::{BTreeMap, BTreeSet};

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
    /// Types of functions and of fields without typedefs: [`Header::bare`](crate::header::model::Header::bare).
    pub bare: BTreeMap<String, String>,
    /// Functions of both kinds.
    pub left_out: Vec<LeftOut>,
    /// Name of the library and options of its domain.
    pub library: Option<(String, Vec<String>)>,
    /// Functions to which the program gives back what is its own.
    pub freers: BTreeSet<String>,
    /// What is remembered of handles, as expressions ask for it: function and what of it.
    pub told: Vec<(String, String)>,
    pub(super) facts: std::sync::OnceLock<Facts>,
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
    /// Where there are `bool`s in it, however deep: paths of C, `[]` behind arrays of structures. With [`TEXT`](super::TEXT) before it: text, which ends there.
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

impl Buffer {
    /// As `notes` say it, of elements of so many bytes; it may be null, and has no `bool`s.
    pub(super) fn of(notes: &Notes, element: u64) -> Buffer {
        Buffer {
            reads: notes.direction.is_none_or(Direction::reads),
            writes: notes.direction.is_some_and(Direction::writes),
            size: notes.size.clone(),
            written: notes.written.clone(),
            element: element.max(1),
            nullable: true,
            bools: None,
            shared: notes.shared,
        }
    }
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
pub(super) struct Facts {
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
