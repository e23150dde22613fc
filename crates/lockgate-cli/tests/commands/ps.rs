//! `lockgate ps`: this very process, seen from another one.
use crate::shop::lockgate;
use lockgate::{Allow, Domain, Export, HostFunction, Registry, Version};

#[test]
fn exports_of_a_process_are_listed() {
    let registry = Registry::new();
    let export = Export::new("shop.price", Version::new(2, 7)).allow(Allow::User(42));
    registry.export_host(HostFunction::new(|_: &Domain, x: i32| x), export).unwrap();
    let own = std::process::id().to_string();
    let ran = lockgate(&["ps", &own]);
    assert_eq!(ran.status, 0);
    for part in
        [&format!("process {own}\n"), "shop.price 2.7  int32_t shop.price(int32_t)", "by host; for user 42;"]
    {
        assert!(ran.out.contains(part), "no {part:?} in: {}", ran.out);
    }
    for arguments in [&["ps", "--json"][..], &["ps", &own, "--json"]] {
        let json = lockgate(arguments).json();
        let processes = json["processes"].as_array().unwrap();
        let process =
            processes.iter().find(|process| process["pid"] == std::process::id()).expect("this process");
        let export = &process["exports"][0];
        assert_eq!((&export["name"], &export["version"]), (&"shop.price".into(), &"2.7".into()));
        assert_eq!(export["bindings"].as_array().unwrap().len(), 0);
    }
    registry.unexport("shop.price").unwrap();
    assert!(!lockgate(&["ps", &own]).out.contains("shop.price"));
}

#[test]
fn processes_that_cannot_be_read_are_errors() {
    lockgate(&["ps", "4294967295"]).fails(2, &["there is no process 4294967295"]);
    lockgate(&["ps", "1"]).fails(2, &["process 1 "]);
    lockgate(&["ps", "one"]).fails(2, &["invalid value 'one'"]);
}
