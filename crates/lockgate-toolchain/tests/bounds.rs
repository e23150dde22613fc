//! What debug information may cost the one who links it.

use crate::common::Workshop;
use lockgate_toolchain::silent;

/// Debug information of a few lines may stand for types without end: each level of structures has the one below twice, and each function has all
/// of them. What is left out then is the note. Red if a typedef is looked at twice (the levels: minutes), or if types are not counted
/// (the functions: minutes).
#[test]
fn types_are_looked_at_within_bounds() {
    let shop = Workshop::new();
    let levels = |count: usize| -> String {
        let level = |n: usize| format!("typedef struct {{ t{n} a, b; }} t{}; ", n + 1);
        let levels: String = (0..count).map(level).collect();
        format!("typedef struct {{ char c; }} t0; {levels}")
    };
    let deep = format!("{} long f(t14 x) {{ return 0; }}", levels(14));
    let mut link = shop.link();
    link.file(&shop.gcc(&shop.write("deep.c", deep.as_bytes()), &["-g", "-w"])).unwrap();
    link.export("f").unwrap();
    link.run(&shop.sysroot, &silent).expect("it links");
    let functions = |count: usize| -> String {
        (0..count).map(|n| format!("long f{n}(t9 x) {{ return 0; }} ")).collect()
    };
    for (count, are_noted) in [(20, true), (550, false)] {
        let many = format!("{}{}", levels(9), functions(count));
        let object = shop.gcc(&shop.write("many.c", many.as_bytes()), &["-g", "-w"]);
        let mut link = shop.link();
        link.file(&object).unwrap();
        for n in 0..count {
            link.export(&format!("f{n}")).unwrap();
        }
        link.run(&shop.sysroot, &silent).expect("it links");
        let noted = shop.module().exports.iter().filter(|export| export.signature.is_some()).count();
        assert!(noted > 10 && (noted == count) == are_noted, "{noted} of {count}");
    }
}
