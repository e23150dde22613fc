//! Properties of policies (docs/policies.md): each is attacked where it is asked for, in vain, and where it is not, with success.

mod classes;
mod host_sys;
mod interrupted;
mod mechanism;
mod processor;
mod reach;
mod registers;
mod values;

use crate::common::Guest;
use lockgate::{Domain, Function, FunctionType, OnFailure, Policy};

const PRESETS: [Policy; 4] =
    [Policy::INTEGRITY, Policy::MUTUAL_DISTRUST, Policy::SERVER_TRUSTED, Policy::MUTUAL_TRUST];

/// Calls of an import, whose result stays in rax.
const CALL: &str = "lea -8(%rsp),%rsp\n mov %rax,-OFF(%rsp)\n BEFORE\n call *%gs:0x11080\n lea 8(%rsp),%rsp\n mov %rcx,-OFF(%rsp)\n AFTER\n ret\n";

/// A function that does `before`, calls the import, and does `after`.
fn around(name: &str, before: &str, after: &str) -> String {
    format!("function {name}\n {}", CALL.replace("BEFORE", before).replace("AFTER", after))
}

/// A domain whose one import is `prototype`.
fn client(source: &str, prototype: &str) -> Domain {
    Guest::assembly(source).gate(prototype).domain()
}

/// Answers `client`'s import with `name`.
fn link(client: &Domain, server: &Domain, import: &str, name: &str, policy: Policy) {
    client
        .link(import, server, &crate::common::said(client, import, name), policy, OnFailure::default())
        .unwrap_or_else(|e| panic!("{name}: {e}"));
}

fn bind<F: FunctionType>(domain: &Domain, name: &str, policy: Policy) -> Function<F> {
    domain.bind_with(name, policy).unwrap_or_else(|error| panic!("{name}: {error}"))
}
