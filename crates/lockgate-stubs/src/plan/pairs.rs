//! Which callbacks the program's own data goes to: those that stand beside it; and which functions give it back.
use super::{
    CallbackPlan, FunctionPlan, LeftOut, No, OMIT, Outcome, Passing, Plan, Planner, RecordPlan, Refusal, no,
    or_omit,
};
use std::collections::BTreeSet;

/// Most callbacks of a call that one pointer comes with (`LGS_SHARERS` of the runtime).
const SHARERS: usize = 8;

/// Something that the library gives: in a structure of this type, or by itself.
struct Given<'p> {
    outcome: &'p Outcome,
    key: Option<&'p str>,
}

impl<'p> Given<'p> {
    fn fields((key, record): (&'p String, &'p RecordPlan)) -> impl Iterator<Item = Given<'p>> {
        record.fields.iter().map(|field| Given { outcome: &field.outcome, key: Some(key) })
    }
}

impl Plan {
    /// Of parameters or fields in their order: each place of data, with those of the callbacks that get it. One pointer is for all of them; of
    /// several, each is for those directly before it, or each for those directly behind it.
    pub fn pairs<'p>(&self, all: impl Iterator<Item = &'p Passing>) -> Option<Vec<(usize, Vec<usize>)>> {
        let all: Vec<&Passing> = all.collect();
        let places = |wanted: &dyn Fn(&Passing) -> bool| -> Vec<usize> {
            all.iter().enumerate().filter(|(_, passing)| wanted(passing)).map(|(place, _)| place).collect()
        };
        let takes = |passing: &Passing| match passing {
            Passing::Callback { name } => self.callbacks.get(name).is_some_and(|plan| plan.takes_data()),
            _ => false,
        };
        let data = places(&|passing| matches!(passing, Passing::Data { .. }));
        let mut callbacks = places(&takes);
        if callbacks.is_empty() {
            callbacks = places(&|passing| matches!(passing, Passing::Callback { .. }));
        }
        let of = |place: usize, from: Option<usize>, to: Option<usize>| {
            let between = |c: &usize| from.is_none_or(|from| *c > from) && to.is_none_or(|to| *c < to);
            (place, callbacks.iter().copied().filter(between).collect::<Vec<usize>>())
        };
        let before = |n: usize| n.checked_sub(1).map(|n| data[n]);
        let pairs: Vec<(usize, Vec<usize>)> = match (data.as_slice(), callbacks.as_slice()) {
            ([_] | [], _) | (_, []) => data.iter().map(|place| of(*place, None, None)).collect(),
            ([.., last], [first, .., end] | [first @ end]) => {
                let leads = data[0] < *first;
                if leads == (end < last) {
                    return None;
                }
                let each = data.iter().enumerate();
                match leads {
                    true => each.map(|(n, at)| of(*at, Some(*at), data.get(n + 1).copied())).collect(),
                    false => each.map(|(n, at)| of(*at, before(n), Some(*at))).collect(),
                }
            }
        };
        let sound =
            pairs.iter().all(|(_, of)| (callbacks.is_empty() || !of.is_empty()) && of.len() <= SHARERS);
        sound.then_some(pairs)
    }

    /// Functions to which the program gives data.
    fn givers(&self) -> Vec<String> {
        let data = |passing: &Passing| matches!(passing, Passing::Data { .. });
        let gives = |function: &&FunctionPlan| {
            function.parameters.iter().any(|passing| match passing {
                Passing::Record { key, .. } => self
                    .records
                    .get(key)
                    .is_some_and(|record| record.fields.iter().any(|field| data(&field.passing))),
                other => data(other),
            })
        };
        self.functions.iter().filter(gives).map(|function| function.name.clone()).collect()
    }

    /// The program gives structures of this type, to functions, or by what it fills in a callback.
    fn takes(&self, key: &str) -> bool {
        let passed = |passing: &Passing| matches!(passing, Passing::Record { key: of, buffer, .. } if of == key && buffer.reads);
        let filled = |outcome: &Outcome| matches!(outcome, Outcome::Filled { key: of } if of == key);
        self.functions.iter().any(|function| function.parameters.iter().any(passed))
            || self.callbacks.values().any(|callback| callback.parameters.iter().any(filled))
    }

    /// What the library gives with one result or parameter.
    fn given<'p>(&'p self, outcome: &'p Outcome) -> Vec<Given<'p>> {
        match outcome {
            Outcome::Record { key, .. } => {
                self.records.get_key_value(key).into_iter().flat_map(Given::fields).collect()
            }
            _ => vec![Given { outcome, key: None }],
        }
    }

    /// What the library gives the program together: with a function's result and what that sets, and to each callback that it is given.
    fn given_by<'p>(&'p self, function: &'p FunctionPlan) -> Vec<Vec<Given<'p>>> {
        let fields = |key: &str| self.records.get_key_value(key);
        let all = |outcome| self.given(outcome);
        let called = |name: &'p String| -> Vec<Given<'p>> {
            let callback = self.callbacks.get(name);
            callback.into_iter().flat_map(|callback| callback.parameters.iter().flat_map(all)).collect()
        };
        let mut own = all(&function.result);
        let mut groups = Vec::new();
        for passing in &function.parameters {
            match passing {
                Passing::Record { key, buffer, .. } if buffer.writes && !buffer.reads => {
                    own.extend(fields(key).into_iter().flat_map(Given::fields));
                }
                Passing::Record { key, .. } => {
                    let record = self.records.get(key);
                    groups.extend(record.into_iter().flat_map(|record| &record.fields).filter_map(|field| {
                        match &field.passing {
                            Passing::Callback { name } => Some(called(name)),
                            _ => None,
                        }
                    }));
                }
                Passing::Callback { name } => groups.push(called(name)),
                Passing::Pointer { after, .. } => own.extend(all(after)),
                _ => {}
            }
        }
        groups.push(own);
        groups
    }

    /// Data among these, and a function that it may be for: with the type of the structure, if they are in one.
    fn paired<'p>(&self, group: &[Given<'p>]) -> Option<Option<&'p str>> {
        let data = |given: &&Given<'_>| matches!(given.outcome, Outcome::Data { .. });
        group.iter().filter(data).find_map(|data| {
            let goes_with = |given: &&Given<'_>| match given.outcome {
                // (In one structure they are one thing.)
                Outcome::Callback { name } => {
                    given.key.is_some() && given.key == data.key
                        || self.callbacks.get(name).is_some_and(CallbackPlan::takes_data)
                }
                _ => false,
            };
            group.iter().find(goes_with).map(|function| function.key.filter(|key| Some(*key) == data.key))
        })
    }

    /// Types of which the program gives functions, and always with data.
    fn given_with_data(&self) -> BTreeSet<String> {
        fn name(passing: &Passing) -> Option<&str> {
            match passing {
                Passing::Callback { name } => Some(name),
                _ => None,
            }
        }
        let data = |passing: &Passing| matches!(passing, Passing::Data { .. });
        let (mut with, mut alone) = (BTreeSet::new(), BTreeSet::new());
        for function in &self.functions {
            let bound = function.parameters.iter().any(data);
            let all = if bound { &mut with } else { &mut alone };
            all.extend(function.parameters.iter().filter_map(name));
        }
        for record in self.records.values() {
            let pairs = self.pairs(record.fields.iter().map(|field| &field.passing)).unwrap_or_default();
            for (place, field) in record.fields.iter().enumerate() {
                let bound = pairs.iter().any(|(_, of)| of.contains(&place));
                let all = if bound { &mut with } else { &mut alone };
                all.extend(name(&field.passing));
            }
        }
        with.difference(&alone).map(|&name| name.to_owned()).collect()
    }

    /// A refusal where data and callbacks do not stand in pairs.
    pub(super) fn is_paired<'p>(&self, all: impl Iterator<Item = &'p Passing>) -> Result<(), No> {
        match self.pairs(all) {
            Some(_) => Ok(()),
            None => no(
                "the order of its parameters does not say which callback gets which of the program's data (LG_DATA)",
                "leave it out with LG_OMIT, or declare one that has each data directly behind its callback, or each directly before",
            ),
        }
    }
}

impl Planner<'_> {
    /// Functions that give data back give what the program gave to the functions that `LG_GIVEN` names, and nothing else: what kind of thing that is only it knows.
    /// Without it that is what their own parameters give, or what the only function gives that is given any. All others are refused.
    pub(super) fn who_gave(&mut self) {
        let givers = self.plan.givers();
        let mut refused = Vec::new();
        for function in &mut self.plan.functions {
            let Outcome::Data { by } = &mut function.result else { continue };
            let unknown = by.iter().find(|name| !givers.contains(name)).cloned();
            if let Some(unknown) = unknown {
                let left_out = self.plan.left_out.iter().any(|left| left.name == unknown);
                by.retain(|name| givers.contains(name));
                if !left_out || by.is_empty() {
                    let reason = format!("LG_GIVEN: the program gives no data (LG_DATA) to {unknown}()");
                    refused.push((function.name.clone(), reason, "name functions to which it does"));
                }
            } else if by.is_empty() {
                *by = match givers.as_slice() {
                    all if all.contains(&function.name) => vec![function.name.clone()],
                    [] | [_] => givers.clone(),
                    [one, other, ..] => {
                        let reason = format!(
                            "no annotation says which of the program's data it gives back: what {one}() got, or {other}(), …"
                        );
                        refused.push((
                            function.name.clone(),
                            reason,
                            "add LG_GIVEN(f, …) with the functions that it was given to",
                        ));
                        continue;
                    }
                };
            }
        }
        for (name, reason, remedy) in refused {
            self.refuse_after_all(&name, "result", reason, remedy);
        }
    }

    /// Where the library gives functions and data together, in a structure, beside each other, or to a callback, it would say which function is called with which
    /// data, though it was given both for other things. (Where the program's own comes back, both stay as they are.)
    pub(super) fn no_pairs_come_out(&mut self) {
        let plan = &self.plan;
        let mut refused = Vec::new();
        for function in &plan.functions {
            let key = plan.given_by(function).iter().find_map(|group| plan.paired(group));
            refused.extend(key.map(|key| (function.name.clone(), key.map(str::to_owned))));
        }
        for (name, key) in refused {
            let which = "it could choose which of them belong together";
            let (what, reason, remedy) = match key {
                Some(key) => (
                    "its structures",
                    format!(
                        "the library gives `{key}`, with functions of the program's and data for them in it: {which}"
                    ),
                    or_omit("annotate the functions or the data in it with LG_IGNORE (LG_FIELD)"),
                ),
                None => (
                    "what it gives",
                    format!(
                        "the library gives functions of the program's, and data for them beside them: {which}"
                    ),
                    or_omit("annotate the functions or the data with LG_IGNORE"),
                ),
            };
            self.refuse_after_all(&name, what, reason, &remedy);
        }
    }

    /// A function of the program's that came with data does not come back, by whatever call: the library would say which of them the program calls with which data.
    pub(super) fn functions_come_back_alone(&mut self) {
        let plan = &self.plan;
        let all = plan.given_with_data();
        let with_data = |given: &Given<'_>| match given.outcome {
            Outcome::Callback { name } if all.contains(name) => Some(name.clone()),
            _ => None,
        };
        let gives = |function: &FunctionPlan| plan.given_by(function).iter().flatten().find_map(with_data);
        let refused: Vec<(String, String)> = plan
            .functions
            .iter()
            .filter_map(|function| Some((function.name.clone(), gives(function)?)))
            .collect();
        for (name, kind) in refused {
            let reason = format!(
                "the library gives functions of type {kind}, which the program gives with data only: which of them belongs to which data it could say as it likes"
            );
            self.refuse_after_all(&name, "what it gives", reason, OMIT);
        }
    }

    /// Data in a structure that the library gives is what the program gave in that field, or to the functions that `LG_GIVEN` names: other data is for other
    /// things, and only the program knows what kind of thing it is.
    pub(super) fn who_gave_fields(&mut self) {
        let plan = &self.plan;
        let givers = plan.givers();
        let mut known = Vec::new();
        let mut unknown: Vec<(String, String)> = Vec::new();
        for (key, record) in &plan.records {
            for (place, field) in record.fields.iter().enumerate() {
                let Outcome::Data { by } = &field.outcome else { continue };
                let own = format!("{}.{}", record.spelling, field.name);
                let by = match (by.as_slice(), givers.as_slice()) {
                    ([_, ..], _) => {
                        unknown.extend(by.iter().filter(|name| !givers.contains(name)).map(|name| {
                            (
                                key.clone(),
                                format!("{own}: LG_GIVEN: the program gives no data (LG_DATA) to {name}()"),
                            )
                        }));
                        by.clone()
                    }
                    _ if plan.takes(key) => vec![own],
                    ([], [only]) => vec![only.clone()],
                    ([], [one, other, ..]) => {
                        let why = format!(
                            "{own}: no annotation says which of the program's data it gives back: what {one}() got, or {other}(), …"
                        );
                        unknown.push((key.clone(), why));
                        continue;
                    }
                    ([], []) => vec![own],
                };
                known.push((key.clone(), place, by));
            }
        }
        let shows = |function: &FunctionPlan, key: &String| {
            let data = |given: &Given<'_>| {
                given.key == Some(key.as_str()) && matches!(given.outcome, Outcome::Data { .. })
            };
            plan.given_by(function).iter().flatten().any(data)
        };
        let refused: Vec<(String, String)> = unknown
            .iter()
            .flat_map(|(key, why)| {
                let shown = plan.functions.iter().filter(|function| shows(function, key));
                shown.map(|function| (function.name.clone(), why.clone()))
            })
            .collect();
        for (key, place, given) in known {
            let field = self.plan.records.get_mut(&key).map(|record| &mut record.fields[place].outcome);
            if let Some(Outcome::Data { by }) = field {
                *by = given;
            }
        }
        for (name, reason) in refused {
            let remedy =
                "add LG_GIVEN(f, …) to the field (LG_FIELD), with the functions that it was given to";
            self.refuse_after_all(&name, "its structures", reason, remedy);
        }
    }

    /// Functions that a domain calls by name were given together with nothing: which of the program's data is for them, or for functions that come with it, the
    /// domain would say as it likes. (In a structure it is what was given there.)
    pub(super) fn gates_are_given_no_data(&mut self) {
        let plan = &self.plan;
        let data = |gate: &&CallbackPlan| {
            let given: Vec<Given<'_>> =
                gate.parameters.iter().flat_map(|outcome| plan.given(outcome)).collect();
            let any = |given: &Given<'_>| match given.outcome {
                Outcome::Data { by } => given.key.is_none() || by.is_empty(),
                _ => false,
            };
            given.iter().any(any) || plan.paired(&given).is_some()
        };
        let refused: Vec<String> = plan.gates.iter().filter(data).map(|gate| gate.name.clone()).collect();
        for name in refused {
            self.plan.gates.retain(|gate| gate.name != name);
            let Some(declared) = self.header.functions.named(&name) else { continue };
            self.plan.refusals.push(Refusal {
                place: declared.place.clone(),
                function: name.clone(),
                declaration: format!("{name}, which the domain calls"),
                reason: "it is given the program's own data, and the domain could choose which".to_owned(),
                remedy: "give a callback with data to the domain, or let it pass a number (LG_IGNORE leaves a parameter or field out)".to_owned(),
            });
        }
    }

    /// A function that has been planned is refused for what others do.
    pub(super) fn refuse_after_all(&mut self, name: &str, what: &str, reason: String, remedy: &str) {
        let header = self.header;
        let Some(declared) = header.functions.named(name) else { return };
        self.plan.functions.retain(|function| function.name != *name);
        let error = self.error(declared);
        self.plan.left_out.push(LeftOut {
            name: name.to_owned(),
            prototype: declared.prototype.clone(),
            reason: reason.clone(),
            error,
        });
        self.plan.refusals.push(Refusal {
            place: declared.place.clone(),
            function: name.to_owned(),
            declaration: format!("{name}: {what}"),
            reason,
            remedy: remedy.to_owned(),
        });
    }
}
