//! Functions that must leave r11 alone although the calling convention lets them change it.
//!
//! A compiler that sees the callee (-fipa-ra) keeps values in registers that the callee happens not to
//! change. The rewriter uses r11 as its own scratch register, so it has to know those callees.

use std::collections::HashSet;

use iced_x86::{FlowControl, Mnemonic, OpKind, Register};

use crate::decode::{Ins, Text, mark};
use crate::elf::Object;
use crate::encode::R11;
use crate::liveness::Liveness;
use crate::refs::Code;

/// A function: its text and its number there.
type Function = (usize, usize);

/// By text: the functions (their first instructions) whose callers keep a value in r11 across the call. Marks
/// the calls that could be such.
pub(crate) fn keepers(code: &mut Code, object: &Object) -> Vec<HashSet<usize>> {
    let mut graph = Graph::of(code, object);
    graph.spread_clobbers();
    for &(number, call, callee) in &graph.calls {
        if graph.is_quiet(callee) {
            code.texts[number].code[call].marks |= mark::SPARES_R11;
        }
    }
    let mut liveness = Liveness::new(HashSet::new());
    let mut keeps: Vec<HashSet<usize>> = vec![HashSet::new(); code.texts.len()];
    let mut work = Vec::new();
    for &(number, call, callee) in &graph.calls {
        let text = &code.texts[number];
        let after = call + 1;
        if graph.is_quiet(callee)
            && after < text.code.len()
            && text.function_of(after) == text.function_of(call)
            && liveness.live(text, after, R11, false)
        {
            work.push(callee);
        }
    }
    // What a quiet function calls in turn is quiet, and must stay so.
    while let Some(function) = work.pop() {
        let (number, index) = function;
        if keeps[number].insert(code.texts[number].functions[index] as usize) {
            work.extend(graph.edges.iter().filter(|edge| edge.0 == function).map(|edge| edge.1));
        }
    }
    keeps
}

/// Who calls whom, as far as the object shows it.
struct Graph {
    /// Functions that change r11 for certain.
    clobbers: HashSet<Function>,
    /// Caller and callee of each direct call or tail call, without repetition.
    edges: HashSet<(Function, Function)>,
    /// Direct calls: text, instruction, callee.
    calls: Vec<(usize, usize, Function)>,
}

impl Graph {
    fn of(code: &Code, object: &Object) -> Graph {
        let mut graph = Graph { clobbers: HashSet::new(), edges: HashSet::new(), calls: Vec::new() };
        for (number, text) in code.texts.iter().enumerate() {
            let mut function = 0;
            for (index, ins) in text.code.iter().enumerate() {
                while text.functions.get(function + 1).is_some_and(|&next| next as usize <= index) {
                    function += 1;
                }
                graph.look_at(code, object, (number, function), index, ins);
            }
        }
        graph
    }

    fn look_at(&mut self, code: &Code, object: &Object, caller: Function, index: usize, ins: &Ins) {
        let number = caller.0;
        let clobbers = match ins.code.flow_control() {
            FlowControl::IndirectCall => true,
            FlowControl::Call if ins.code.mnemonic() == Mnemonic::Syscall => true,
            FlowControl::Call | FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch
                if ins.is_near_branch() =>
            {
                let text = &code.texts[number];
                let is_call = ins.code.flow_control() == FlowControl::Call;
                match code.branch_place(object, number, index) {
                    Some((other, target))
                        if !is_call && other == number && text.is_inside(caller.1, target) =>
                    {
                        false
                    }
                    Some((other, target)) => {
                        let callee = (other, code.texts[other].function_of(target));
                        if callee != caller {
                            self.edges.insert((caller, callee));
                        }
                        if is_call {
                            self.calls.push((number, index, callee));
                        }
                        false
                    }
                    // Code that the compiler did not see may change every register.
                    None => true,
                }
            }
            _ => writes_r11(ins),
        };
        if clobbers {
            self.clobbers.insert(caller);
        }
    }

    /// A function that calls one that changes r11 changes it too.
    fn spread_clobbers(&mut self) {
        let mut callers: std::collections::HashMap<Function, Vec<Function>> =
            std::collections::HashMap::new();
        for &(caller, callee) in &self.edges {
            callers.entry(callee).or_default().push(caller);
        }
        let mut work: Vec<Function> = self.clobbers.iter().copied().collect();
        while let Some(callee) = work.pop() {
            for &caller in callers.get(&callee).into_iter().flatten() {
                if self.clobbers.insert(caller) {
                    work.push(caller);
                }
            }
        }
    }

    fn is_quiet(&self, function: Function) -> bool {
        !self.clobbers.contains(&function)
    }
}

fn writes_r11(ins: &Ins) -> bool {
    let code = &ins.code;
    code.op_count() > 0
        && code.op0_kind() == OpKind::Register
        && code.op0_register() >= Register::AL
        && code.op0_register() <= Register::R15
        && code.op0_register().full_register() == Register::R11
        && !matches!(code.mnemonic(), Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Push | Mnemonic::Bt)
}

impl Text {
    /// Number of the function that instruction `index` lies in.
    pub(crate) fn function_of(&self, index: usize) -> usize {
        self.functions.partition_point(|&start| start as usize <= index).saturating_sub(1)
    }

    /// Whether instruction `index` lies in function `function`.
    fn is_inside(&self, function: usize, index: usize) -> bool {
        let end = self.functions.get(function + 1).map_or(self.code.len(), |&next| next as usize);
        (self.functions[function] as usize..end).contains(&index)
    }

    /// First instruction of the function that `index` lies in, and one past its last.
    pub(crate) fn function_around(&self, index: usize) -> (usize, usize) {
        let function = self.function_of(index);
        let end = self.functions.get(function + 1).map_or(self.code.len(), |&next| next as usize);
        (self.functions[function] as usize, end)
    }
}
