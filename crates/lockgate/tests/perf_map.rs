//! Names for profilers, in a process that has asked for them: modules' functions, gates, proxies, thunks.

use crate::common::{Guest, own_test};
use lockgate::{Domain, DomainOptions, Value};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Output;

const SOURCE: &str = "
long helper(long) __asm__(\"_ZN4shop6helperEl\");
__attribute__((noinline)) long helper(long n) { __asm__ volatile(\"\"); return n + 1; }
/* As rustc names functions: in its older way and in its newer one (v0). */
long first(long) __asm__(\"_ZN4till4shop3pay17h05af221e174051e9E\");
long second(long) __asm__(\"_RNvMNtCs9ltgdHTiPiY_4till4shopNtB2_4Till4sell\");
__attribute__((noinline)) long first(long n) { __asm__ volatile(\"\"); return n + 2; }
__attribute__((noinline)) long second(long n) { __asm__ volatile(\"\"); return n + 3; }
long own(void) { return (long)own; }
long helpers(void) { return helper(0) == 1 ? (long)helper : 0; }
long pays(void) { return first(0) == 2 ? (long)first : 0; }
long sells(void) { return second(0) == 3 ? (long)second : 0; }
";

/// Runs the test `name` of this program, ignored in ordinary runs, in a process with the variable.
fn in_child(name: &str, variable: Option<&str>) -> Output {
    let mut command = own_test(name);
    command.args(["--ignored", "--nocapture"]);
    command.env_remove("LOCKGATE_PERF_MAP").envs(variable.map(|value| ("LOCKGATE_PERF_MAP", value)));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn own_map() -> PathBuf {
    format!("/tmp/perf-{}.map", std::process::id()).into()
}

fn domain() -> Domain {
    Guest::c(SOURCE).domain_with(DomainOptions::new())
}

/// Name of what lies at `address`, as the map says.
fn name_at(map: &str, address: u64) -> Option<&str> {
    map.lines().find_map(|line| {
        let (start, rest) = line.split_once(' ')?;
        let (length, name) = rest.split_once(' ')?;
        let [start, length] = [start, length].map(|hex| u64::from_str_radix(hex, 16).unwrap());
        (start..start + length).contains(&address).then_some(name)
    })
}

#[test]
fn code_has_names() {
    in_child("perf_map::named_code", Some("1"));
}

#[test]
#[ignore = "in a process of its own, by `code_has_names`"]
fn named_code() {
    // What an earlier process of this user's with this number has left is no obstacle.
    std::fs::write(own_map(), "0 ffffffffffffffff old\n").unwrap();
    let domain = domain();
    let [own, helper, pay, sell] = ["own", "helpers", "pays", "sells"].map(|name| {
        let function = domain.bind_dynamic(&format!("long {name}(void)")).unwrap();
        let Value::Signed(address) = function.call(&[]).unwrap() else { panic!("a number") };
        (address as u64, function)
    });
    let proxy = (own.1.proxy().address, own.1.proxy().address + own.1.proxy().leave as u64);
    let map = std::fs::read_to_string(own_map()).unwrap();
    let metadata = std::fs::metadata(own_map()).unwrap();
    std::fs::remove_file(own_map()).unwrap();

    assert_eq!((metadata.mode() & 0o777, metadata.nlink()), (0o600, 1));
    assert_eq!(name_at(&map, own.0), Some("own [guest]"), "{map}");
    assert_eq!(name_at(&map, helper.0 + 4), Some("shop::helper(long) [guest]"), "{map}");
    assert_eq!(name_at(&map, pay.0 + 4), Some("till::shop::pay [guest]"), "{map}");
    assert_eq!(name_at(&map, sell.0 + 4), Some("<till::shop::Till>::sell [guest]"), "{map}");
    let window = own.0 >> 32 << 32;
    assert_eq!(name_at(&map, window + lockgate_abi::window::THUNKS), Some("gates [guest]"), "{map}");
    let named = |address| name_at(&map, address).unwrap_or_default();
    assert!(named(proxy.0).starts_with("proxy in, host to domain, mutual distrust"), "{map}");
    assert!(named(proxy.1).starts_with("proxy out, host to domain, mutual distrust"), "{map}");
    assert!(map.contains(" thunk of own [guest]\n") && map.contains(" thunk of helpers [guest]\n"), "{map}");
    // perf looks for names of anonymous code only. Code is never writable.
    for address in [own.0, proxy.0] {
        let [mapping] = &crate::common::mappings(address, address + 1)[..] else { panic!("one mapping") };
        assert!(mapping.rights.starts_with("r-x"), "{mapping:?}");
        assert!(mapping.path.is_empty() || mapping.path.starts_with("/dev/zero"), "{mapping:?}");
    }
}

/// `/tmp` is everybody's: a link in the place of the map is not followed, and a file of somebody else's is left alone.
#[test]
fn traps_in_the_place_of_the_map() {
    let output = in_child("perf_map::trapped", Some("1"));
    assert!(String::from_utf8_lossy(&output.stderr).lines().count() < 20);
}

#[test]
#[ignore = "in a process of its own, by `traps_in_the_place_of_the_map`"]
fn trapped() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target");
    std::fs::write(&target, "precious").unwrap();
    symlink(&target, own_map()).unwrap();
    let own = domain().bind::<extern "C" fn() -> i64>("own").unwrap().call().unwrap();
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "precious");
    // Our own link was what an earlier process might have left: a new file took its place.
    assert!(std::fs::symlink_metadata(own_map()).unwrap().is_file());
    let map = std::fs::read_to_string(own_map()).unwrap();
    std::fs::remove_file(own_map()).unwrap();
    assert_eq!(name_at(&map, own as u64), Some("own [guest]"));
}

/// Without the variable there is no map, and code is in sealed files.
#[test]
fn nobody_asked() {
    in_child("perf_map::unnamed_code", None);
    in_child("perf_map::unnamed_code", Some("0"));
}

#[test]
#[ignore = "in a process of its own, by `nobody_asked`"]
fn unnamed_code() {
    let own = domain().bind::<extern "C" fn() -> i64>("own").unwrap();
    let at = own.call().unwrap() as u64;
    assert!(!Path::new(&own_map()).exists());
    assert!(crate::common::mappings(at, at + 1)[0].path.starts_with("/memfd:"));
}
