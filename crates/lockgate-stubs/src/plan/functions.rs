//! A function's plan: steps in the order in which refusals are told, the first of which is the function's.
use super::failure::{asks, counts, tells};
use super::keep::Left;
use super::places::Place as Stands;
use super::{
    Buffer, Formatted, FunctionPlan, LeftOut, No, OMIT, Outcome, Passing, Plan, Planner, Refusal, effects,
    is_of_platform, no, or_omit, outcome, passing, places,
};
use crate::annotation::Notes;
use crate::expression::Expression;
use crate::header::model::{CType, Function, Header, Parameter, Prototype, Shape};
use std::collections::BTreeSet;

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
    // (Numbers and constants are for clients that others compile, with macros of their own. Here the stubs are compiled from the very text that was
    // read, and `agree` compares what the program means by it.)
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

/// What of a function is refused, `None` where it is all of it, and why.
type Refused = (Option<String>, No);

fn of_function(no: No) -> Refused {
    (None, no)
}

fn of_result(no: No) -> Refused {
    (Some("result".to_owned()), no)
}

impl Planner<'_> {
    /// What can be said when all functions are planned.
    fn look_at_all(&mut self) {
        self.who_gave();
        self.no_pairs_come_out();
        self.functions_come_back_alone();
        self.who_gave_fields();
    }

    pub(super) fn function(&mut self, function: &Function) {
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
        self.begin();
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
    pub(super) fn gate(&mut self, function: &Function) {
        let Function { name, prototype, notes, place, .. } = function;
        self.begin();
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

    fn try_function(&mut self, function: &Function) -> Result<FunctionPlan, Refused> {
        let function = &borrowed_throughout(function);
        let Function { name, prototype, notes, .. } = function;
        self.is_named_well(function).map_err(of_function)?;
        is_of_platform(prototype).map_err(of_function)?;
        places::belong(notes, &prototype.result, Stands::Function).map_err(of_function)?;
        self.asks_in_no_ring(function).map_err(of_function)?;
        let formatted = self.formatted(function).map_err(of_function)?;
        let format = if formatted.is_some() { None } else { self.format(function).map_err(of_function)? };
        let parameters = self.passed(function, formatted.as_ref())?;
        self.plan.is_paired(parameters.iter()).map_err(of_function)?;
        let result = self.comes_out(function, &parameters)?;
        self.places_do_not_count(function, &parameters, &result)?;
        let Left { freed, owned } = self.leaves(prototype, notes, &parameters, &result)?;
        let counted = self.counted(function)?;
        let jumps = self.jumps(function, &parameters)?;
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

    /// Its name, and those of its parameters and types, can be said in a client, and mean what they mean in the header.
    fn is_named_well(&self, function: &Function) -> Result<(), No> {
        let Function { name, prototype, .. } = function;
        let names = prototype.parameters.iter().map(|parameter| &parameter.name);
        if let Some(ours) = std::iter::once(name).chain(names.clone()).find(|name| crate::name::is_ours(name))
        {
            return Err(is_ours(ours));
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
            return Err(is_ours(&ours));
        }
        let is_word = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_word(name) {
            return no(
                "its name has characters that prototypes cannot have: they consist of ASCII letters, digits and _",
                or_omit("give it another name"),
            );
        }
        if self.header.renamed.contains(name) {
            return no(
                "it has another name in objects (an asm label): the module has nothing of this name",
                or_omit("declare it by that name"),
            );
        }
        if prototype.format {
            return no(
                "its result is a format to the program's compiler (format_arg), so that the library would choose what printf reads and writes of the program's memory",
                "leave it out with LG_OMIT, or remove this attribute from the header if no program takes its result for a format",
            );
        }
        if prototype.made {
            return no(
                "an attribute says how the compiler makes it, or that it runs before the program or after it (naked, constructor): it would hold for the stub, which is ordinary C",
                or_omit("remove the attribute from the declaration (a definition may have it)"),
            );
        }
        if crate::libc::defines(name) {
            return no(
                "the C library has a function of this name: the stub would be called in its place, in the whole program and in the client itself",
                OMIT,
            );
        }
        if let Some(taken) = names.clone().find(|name| crate::name::is_called(name)) {
            return no(
                format!("the stub itself uses {taken}, so no parameter can have this name"),
                "give it another name",
            );
        }
        let mut types = BTreeSet::new();
        prototype.each_type(&mut |kind| types.extend(kind.names.iter().cloned()));
        if let Some(hidden) = names.clone().find(|name| types.contains(*name)) {
            return no(
                format!("a parameter called {hidden} hides the type of this name, which the stub needs"),
                "give it another name",
            );
        }
        Ok(())
    }

    /// How its parameters go in.
    fn passed(
        &mut self,
        function: &Function,
        formatted: Option<&Formatted>,
    ) -> Result<Vec<Passing>, Refused> {
        let Function { prototype, notes, .. } = function;
        let list = formatted.and_then(|formatted| formatted.list.as_ref());
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
                    remedy: or_omit("remove one of them"),
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
        Ok(parameters)
    }

    /// How its result comes out; and whether a stream, which a handle may have then, is given for the call only.
    fn comes_out(&mut self, function: &Function, parameters: &[Passing]) -> Result<Outcome, Refused> {
        let Function { name, prototype, notes, .. } = function;
        let result = Parameter::new("result", prototype.result.clone(), notes.clone());
        let kind = &result.kind;
        let result = self.outcome(&result, &prototype.parameters, true).map_err(of_result)?;
        let ways = effects::Ways { passing: None, outcome: Some(&result) };
        effects::act(notes, kind, ways).map_err(of_result)?;
        // A handle that lives on may have the stream, and use it in later calls: no declaration says.
        let lives = |passing: &Passing| matches!(passing, Passing::Handle { release: false, .. });
        let lives = parameters.iter().any(lives) || matches!(result, Outcome::Handle { .. });
        for (parameter, passing) in prototype.parameters.iter().zip(parameters) {
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
        Ok(result)
    }

    /// Names that sizes and bounds speak of; what they say of numbers can be said.
    fn counted(&mut self, function: &Function) -> Result<BTreeSet<String>, Refused> {
        let Function { prototype, notes, .. } = function;
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
        Ok(counted)
    }

    /// The handle to whose jmp_buf it may jump.
    fn jumps(&self, function: &Function, parameters: &[Passing]) -> Result<Option<String>, Refused> {
        let Function { prototype, notes, .. } = function;
        let handles = prototype.parameters.iter().zip(parameters);
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
        let jumping = handles
            .filter(|(_, passing)| passing.is_handle())
            .find(|(parameter, _)| self.notes(parameter).jumps)
            // (The program has yet to call setjmp with what it asks for here; and of what is pure, const or leaf, its compiler knows that it does not
            // jump.)
            .filter(|_| notes.jump_buffer.is_none() && !prototype.silent)
            .map(|(parameter, _)| parameter.name.clone());
        Ok(jumping)
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
    pub(super) fn shown(
        &self,
        notes: &crate::annotation::Notes,
        siblings: &[Parameter],
    ) -> Result<Option<String>, No> {
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
                or_omit("annotate it with LG_PRINTF if the last parameter is a format of printf's"),
            ),
        }
    }

    /// The value that `LG_ERRORS` says of a type.
    fn error_of_type(&self, result: &CType) -> Option<&String> {
        let mut names = std::iter::once(&result.spelling).chain(&result.names);
        names.find_map(|name| self.header.errors.get(name))
    }

    /// The annotated error value, else that of the result's type, else a documented default.
    pub(super) fn error(&self, function: &Function) -> Option<String> {
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
            if is_zero && result.is_integer() && tells(name) && !counts(name) {
                return no(
                    "its name says that it tells how a call went: 0, which LG_ERRORS says of the type, may be success",
                    "add LG_ERROR(value)",
                );
            }
            return match result.is_integer() && result.enumeration.is_none() && asks(name) {
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
            Shape::Integer { .. } if counts(name) => return Ok(()),
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

/// Why a function has no stub whose name, or a parameter's, is one of those that clients have for themselves.
fn is_ours(name: &str) -> No {
    No {
        reason: format!(
            "{name} is Lockgate's own name in clients, as are all that begin with lg_, lgs_ or lockgate_"
        ),
        remedy: or_omit("give it another name"),
    }
}
