//! `lockgate ps`: this very process, seen from another one.
use crate::commands::shop::lockgate;
use lockgate::{Allow, Domain, Export, HostFunction, Registry, Version};
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

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

/// Another user's process, with something by the name of a registry that has whoever opens it wait: a FIFO whose path reads like a
/// memory file's, in a file system of its own; and a memory file with a lease, which the kernel waits 45 seconds for.
#[test]
fn nobody_has_the_reader_wait() {
    const HOSTILE: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#define NAME "/memfd:lockgate-registry (deleted)"
static void write_to(const char *path, const char *text) {
    int file = open(path, O_WRONLY);
    if (file >= 0 && write(file, text, strlen(text)) < 0) perror(path);
    close(file);
}
static int fifo(const char *folder) {
    int user = getuid(), group = getgid();
    char map[64];
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS)) return -1;
    write_to("/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "0 %d 1", user), write_to("/proc/self/uid_map", map);
    snprintf(map, sizeof map, "0 %d 1", group), write_to("/proc/self/gid_map", map);
    if (mount("t", folder, "tmpfs", 0, 0) || chroot(folder) || chdir("/") || mkfifo(NAME, 0600)) return -1;
    return open(NAME, O_RDONLY | O_NONBLOCK);
}
static int lease(void) {
    int made = memfd_create("lockgate-registry", MFD_ALLOW_SEALING), file;
    char path[64];
    signal(SIGIO, SIG_IGN);
    snprintf(path, sizeof path, "/proc/self/fd/%d", made);
    file = open(path, O_RDWR), close(made); /* which counts as the one writer that a lease wants */
    if (ftruncate(file, 16384 * 512) || fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) return -1;
    return fcntl(file, F_SETLEASE, F_WRLCK) ? -1 : file;
}
int main(int count, char **arguments) {
    puts((count > 2 ? fifo(arguments[2]) : lease()) < 0 ? "refused" : "ready");
    fflush(stdout);
    return getchar() != EOF;
}
"#;
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("hostile.c"), folder.path().join("hostile"));
    std::fs::write(&source, HOSTILE).unwrap();
    assert!(Command::new("gcc").arg(&source).arg("-o").arg(&program).status().unwrap().success());
    for which in ["lease", "fifo"] {
        let mut hostile = Command::new(&program);
        hostile.arg(which);
        if which == "fifo" {
            hostile.arg(folder.path());
        }
        let mut hostile = hostile.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(hostile.stdout.take().unwrap()).read_line(&mut said).unwrap();
        if said == "refused\n" {
            support::skipped(format_args!("ps, {which}"), "this machine does not let users make one");
            continue;
        }
        let begun = Instant::now();
        lockgate(&["ps", &hostile.id().to_string()]).fails(2, &["has no registry of Lockgate"]);
        assert!(begun.elapsed() < Duration::from_secs(60), "{which}: {:?}", begun.elapsed());
        drop(hostile.stdin.take());
        hostile.wait().unwrap();
    }
}

#[test]
fn processes_that_cannot_be_read_are_errors() {
    lockgate(&["ps", "4294967295"]).fails(2, &["there is no process 4294967295"]);
    lockgate(&["ps", "1"]).fails(2, &["process 1 "]);
    lockgate(&["ps", "one"]).fails(2, &["invalid value 'one'"]);
}
