//! Time and memory of the verifier are linear in the text, whatever it holds.

use lockgate_verify::{Module, State, verify};

/// A module of `text`, padded, and `constants` behind it.
fn large(text: Vec<u8>, constants: Vec<u8>, states: Vec<(u64, State)>) -> Module {
    let mut module = crate::support::large(text, constants);
    module.states = states;
    module
}

/// What would be quadratic if anything were: 16 MiB of one thing. Quadratic work would take hours.
#[test]
fn any_text_is_verified_in_linear_time() {
    const SIZE: usize = 16 << 20;
    let repeated = |unit: &str| {
        let unit = crate::support::bytes(unit);
        unit.iter().copied().cycle().take(SIZE / unit.len() * unit.len()).collect::<Vec<u8>>()
    };
    let constants = vec![0; 4096];
    let plain = |unit: &str| large(repeated(unit), constants.clone(), vec![]);
    // A jump over the next one, which jumps to itself in a state of its own.
    let regions = large(
        repeated("eb02ebfe"),
        constants.clone(),
        (0..SIZE as u64 / 4).map(|i| (4 * i + 2, State::C { b: 8, d: 8 * (i as u32 % 1000) })).collect(),
    );
    // U4, through one table and through a table each; every entry goes to the first byte of the text.
    const SWITCH: usize = 23;
    let switches = |table: &dyn Fn(usize) -> usize| {
        let count = SIZE / SWITCH;
        let constants_at = (count * SWITCH + 2).next_multiple_of(4096);
        let mut text = Vec::with_capacity(SIZE);
        let mut constants = vec![0; (8 * count).next_multiple_of(4096)];
        for i in 0..count {
            // cmp $1,%rax; ja to the nop; lea table(%rip),%rcx; movslq (%rcx,%rax,4),%rdx; add %rcx,%rdx; jmp *%rdx; nop
            text.extend(crate::support::bytes("4883f8017710488d0d"));
            let address = constants_at + table(i);
            text.extend((address.wrapping_sub(SWITCH * i + 13) as u32).to_le_bytes());
            text.extend(crate::support::bytes("486314814801caffe290"));
            for entry in [table(i), table(i) + 4] {
                constants[entry..entry + 4]
                    .copy_from_slice(&(0_u32.wrapping_sub(address as u32)).to_le_bytes());
            }
        }
        text.resize(constants_at - 2, 0xcc);
        large(text, constants, vec![])
    };
    let modules = [
        ("int3", plain("cc")),
        ("ret", plain("c3")),
        ("short jumps to themselves", plain("ebfe")),
        ("branches to the next unit", plain("7400")),
        ("branches to the text's end", plain("0f8400000000")),
        ("calls", plain("e8fbffffff")),
        ("rsp down and up", plain("4883ec084883c408")),
        ("rsp down and up, and back", plain("4883ec084883c40875f6")),
        (
            "computed frames",
            plain("4883ec084931e34181e3f8ffff004931e34939e3770b4c87dc4c891c24488b24244883c408"),
        ),
        ("labels", plain("f30f1efa")),
        ("checked calls", plain("6567448b184181c30df0e10575f24189c365674c031c250800010041ffd3")),
        ("string units", plain("89ff656748033c2508000100f348ab")),
        ("regions", regions),
        ("one table", switches(&|_| 0)),
        ("tables", switches(&|i| 8 * i)),
    ];
    for (what, module) in &modules {
        let start = std::time::Instant::now();
        let verdict = verify(module);
        assert!(start.elapsed().as_secs() < 60, "{what}: {:?}", start.elapsed());
        assert!(verdict.is_ok(), "{what}: {verdict:?}", verdict = verdict.map(|_| ()));
    }
}
