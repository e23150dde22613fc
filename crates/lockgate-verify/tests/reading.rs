//! [`Reading`]: what the verifier says of single instructions to those who check it. `tests/reading.txt` has the table.

use lockgate_verify::Reading;

/// In words: length, control flow or memory operand, access, what is written, probe, and what the report gets.
fn summary(text: &[u8]) -> String {
    let Some(reading) = Reading::of(text) else { return "refused".to_owned() };
    let mut words = vec![format!("{} bytes", reading.len)];
    match reading.control {
        Some(control) => words.push(format!("{control:?}")),
        None => words.push(format!("{:?}", reading.operand)),
    }
    if reading.access != 0 {
        words.push(format!("accesses {}", reading.access));
    }
    if reading.written != 0 {
        let registers: Vec<_> =
            (0..16).filter(|n| reading.written >> n & 1 != 0).map(|n| n.to_string()).collect();
        words.push(format!("writes {}", registers.join(" ")));
    }
    if reading.probes {
        words.push("probes".to_owned());
    }
    let usage = &reading.usage;
    let named = [
        (usage.x87, "x87"),
        (usage.x87_environment, "environment"),
        (usage.mxcsr_write, "mxcsr-write"),
        (usage.mxcsr_read, "mxcsr-read"),
        (usage.evex, "evex"),
        (usage.mask, "mask"),
        (usage.ymm, "ymm"),
        (usage.cpuid, "cpuid"),
    ];
    words.extend(named.iter().filter(|(is, _)| *is).map(|(_, name)| (*name).to_owned()));
    if usage.callee_saved_written != 0 {
        words.push(format!("callee-saved {:x}", usage.callee_saved_written));
    }
    assert_eq!((usage.text_bytes, usage.instructions), (reading.len as u64, 1));
    words.join(", ")
}

#[test]
fn every_reading_is_as_listed() {
    let text = std::fs::read_to_string("tests/reading.txt").unwrap();
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let [hex, assembly, expected] = line.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("not three parts: {line}")
        };
        let got = summary(&crate::support::bytes(hex));
        if got != expected {
            wrong.push(format!("{hex} | {assembly} | {got}"));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "read otherwise:\n{}", wrong.join("\n"));
    assert!(count > 50, "only {count} readings");
}
