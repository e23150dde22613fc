//! The example does what it says.
use lockgate_toolchain::{Link, Sysroot, silent};
use std::path::Path;
use std::process::Command;

#[test]
fn it_reads_settings_and_survives_the_bug() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let (object, module) = (folder.path().join("settings.o"), folder.path().join("settings.lg"));
    // What `lockgate cc` does.
    let sysroot = Sysroot::ensure(&silent).expect("the sysroot can be built");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("settings.c");
    let compiled =
        sysroot.tools().compiler().args(["-g", "-O2", "-c"]).arg(source).arg("-o").arg(&object).status();
    assert!(compiled.expect("gcc starts").success());
    let mut link = Link::new(&module);
    link.file(&object).expect("an object").export_all(true);
    link.run(&sysroot, &silent).expect("it links");

    let texts = ["width = 3\nheight = 4", "width = 3\nheight", "depth=5"];
    let output = Command::new(env!("CARGO_BIN_EXE_lockgate-example")).arg(&module).args(texts).output();
    let output = output.expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], r#"[("width", 3), ("height", 4)]"#, "{said}");
    assert!(lines[1].contains("domain settings") && lines[1].contains("null pointer"), "{said}");
    assert_eq!(lines.last(), Some(&r#"[("depth", 5)]"#), "{said}");
}
