//! One function: sizes checked, the client called, everything that came back as a value.
use super::{Space, declared, documentation, word};
use crate::emit::binding::table::pieces;
use crate::emit::binding::{CopyIn, Function, Judge, Pieces, joined, prototype};
use crate::emit::template::{code, row, template};
use crate::plan::FunctionPlan;

/// The function, and the structure that it returns if several things come back.
pub fn function(form: &Function<'_>, space: &Space<'_, '_>) -> String {
    let Pieces { parameters, before, arguments, after, given, .. } = pieces(form, space);
    let (count, kinds, values) = joined(&given);
    let (kind, several, back) = match count {
        0 => ("void".to_owned(), String::new(), String::new()),
        1 => (kinds, String::new(), format!("return {values};")),
        _ => {
            let own = result_name(form.plan);
            let fields = form.names().zip(&given).map(|(name, (kind, _))| row(declared(kind, name) + ";"));
            let several = template!("cpp/result.hpp.in", NAME = own, FIELDS = fields.collect::<String>());
            (space.own(&own), several, code!("return {@VALUES@};", VALUES = values))
        }
    };
    let called = format!("::{}({})", form.plan.name, arguments.join(", "));
    let ended = form.arguments.iter().filter(|own| {
        matches!(
            own.how,
            CopyIn::Kept { release: true, .. } | CopyIn::Handle { release: true, .. } | CopyIn::Replaced(_)
        )
    });
    let is_used = form.result().is_some() || form.lent.is_some();
    template!(
        "cpp/function.hpp.in",
        SEVERAL = several,
        PROTOTYPE = prototype(form.plan),
        DOCUMENTATION = documentation(form.plan.comment.as_ref()),
        KIND = kind,
        NAME = word(&form.plan.name),
        PARAMETERS = parameters.join(", "),
        BEFORE = before,
        RESULT = if is_used { "auto lgs_result = " } else { "" },
        HOW = if form.errno { "call_errno" } else { "call" },
        // (A number that the enumeration does not have is no value of C++'s.)
        CALLED = match form.result() {
            Some(Judge::Enumeration(_)) => format!("static_cast<std::int64_t>({called})"),
            _ => called,
        },
        ENDED = ended.map(|own| format!(", lg_{}", own.name)).collect::<String>(),
        AFTER = after,
        BACK = back,
    )
}

/// The name of a structure for several things that come back.
pub fn result_name(function: &FunctionPlan) -> String {
    format!("{}_result", function.name)
}
