//! Who listens where, of all programs of a file: two at one address are a mistake that would show only while they run, or not at all.

use std::collections::BTreeMap;
use std::net::{IpAddr, ToSocketAddrs as _};

/// One who listens, and the address as the file has it.
type Owner = (String, String);

/// Those that are known so far.
#[derive(Default)]
pub struct Listeners(BTreeMap<Place, Owner>);

/// What one may have for itself. Addresses of sockets stand by transport and port first, so that few have to be compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Unix(String),
    Socket { is_udp: bool, port: Port, host: Host },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Port {
    Every,
    Is(u16),
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Host {
    /// All that the machine has.
    Every,
    Is(IpAddr),
}

impl Listeners {
    /// Who is in the way of `name` at `address`, which was granted.
    pub fn rival(&self, name: &str, address: &str) -> Option<&Owner> {
        places(address).iter().find_map(|place| self.rival_at(name, place))
    }

    /// `name` listens at `address`.
    pub fn add(&mut self, name: &str, address: &str) {
        for place in places(address) {
            self.0.entry(place).or_insert_with(|| (name.to_owned(), address.to_owned()));
        }
    }

    fn rival_at(&self, name: &str, place: &Place) -> Option<&Owner> {
        let Place::Socket { is_udp, port, host } = place else { return self.0.get(place) };
        let is_other = |owner: &&Owner| owner.0 != name;
        let at = |port: Port, host: Host| self.0.get(&Place::Socket { is_udp: *is_udp, port, host });
        // All of a kind, on ports from one to another.
        let from = |port| Place::Socket { is_udp: *is_udp, port, host: Host::Every };
        let all = |first: Port, last: Port| {
            let found = self.0.range(from(first)..).take_while(move |(place, _)| match place {
                Place::Socket { is_udp: other, port, .. } => other == is_udp && *port <= last,
                Place::Unix(_) => false,
            });
            found.filter_map(|(place, owner)| match place {
                Place::Socket { host, .. } => Some((host, owner)),
                Place::Unix(_) => None,
            })
        };
        match port {
            // Two that may have any port each find one; one that has a port wants that.
            Port::Every => {
                let mut ports = all(Port::Is(1), Port::Is(u16::MAX));
                let is_his = |other: &Host| *other == *host || [other, host].contains(&&Host::Every);
                ports.find(|(other, owner)| is_his(other) && is_other(owner)).map(|(_, owner)| owner)
            }
            Port::Is(_) => {
                let own = match host {
                    Host::Every => all(*port, *port).map(|(_, owner)| owner).next(),
                    host => at(*port, host.clone()).or_else(|| at(*port, Host::Every)),
                };
                let any = || match host {
                    Host::Every => {
                        all(Port::Every, Port::Every).map(|(_, owner)| owner).find(|owner| is_other(owner))
                    }
                    host => at(Port::Every, host.clone())
                        .filter(is_other)
                        .or_else(|| at(Port::Every, Host::Every).filter(is_other)),
                };
                own.or_else(any)
            }
        }
    }
}

/// The places that an address means: a name of a host may be several. None where the kernel picks the port, and for `unix:*`.
fn places(address: &str) -> Vec<Place> {
    if let Some(path) = address.strip_prefix("unix:") {
        return if path == "*" { Vec::new() } else { vec![Place::Unix(path.to_owned())] };
    }
    let (is_udp, rest) = match address.split_once(':') {
        Some((kind @ ("udp" | "tcp"), rest)) => (kind == "udp", rest),
        _ => (false, address),
    };
    let Some((host, port)) = rest.rsplit_once(':') else { return Vec::new() };
    let port = match (port, port.parse()) {
        ("*", _) => Port::Every,
        (_, Ok(port @ 1..)) => Port::Is(port),
        _ => return Vec::new(),
    };
    let host_of = |ip: IpAddr| if ip.is_unspecified() { Host::Every } else { Host::Is(ip.to_canonical()) };
    let hosts = match host.trim_start_matches('[').trim_end_matches(']').parse() {
        _ if host == "*" => vec![Host::Every],
        Ok(ip) => vec![host_of(ip)],
        Err(_) => (host, 0)
            .to_socket_addrs()
            .map_or(Vec::new(), |found| found.map(|address| host_of(address.ip())).collect()),
    };
    hosts.into_iter().map(|host| Place::Socket { is_udp, port, host }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meet(one: &str, other: &str) -> bool {
        let mut listeners = Listeners::default();
        listeners.add("one", one);
        let met = listeners.rival("other", other).is_some();
        let mut listeners = Listeners::default();
        listeners.add("other", other);
        assert_eq!(listeners.rival("one", one).is_some(), met, "{one} {other}");
        met
    }

    #[test]
    fn two_are_in_each_other_s_way_where_one_would_have_the_other_s_connections() {
        for (one, other) in [
            ("127.0.0.1:80", "tcp:127.0.0.1:80"),
            ("127.0.0.1:80", "0.0.0.0:80"),
            ("*:80", "[::1]:80"),
            ("[::]:80", "*:80"),
            ("localhost:80", "127.0.0.1:80"),
            ("127.0.0.1:*", "127.0.0.1:80"),
            ("*:*", "[::1]:80"),
            ("127.0.0.1:*", "*:80"),
            ("udp:127.0.0.1:*", "udp:localhost:53"),
            ("[::ffff:127.0.0.1]:80", "127.0.0.1:80"),
            ("unix:/run/a", "unix:/run/a"),
        ] {
            assert!(meet(one, other), "{one} {other}");
        }
        for (one, other) in [
            ("127.0.0.1:80", "127.0.0.1:81"),
            ("127.0.0.1:80", "127.0.0.2:80"),
            ("127.0.0.1:80", "udp:127.0.0.1:80"),
            ("127.0.0.1:*", "127.0.0.1:*"),
            ("127.0.0.1:*", "127.0.0.1:0"),
            ("127.0.0.1:*", "127.0.0.2:80"),
            ("*:0", "*:0"),
            ("unix:/run/a", "unix:/run/b"),
            ("unix:*", "unix:/run/b"),
        ] {
            assert!(!meet(one, other), "{one} {other}");
        }
    }

    #[test]
    fn one_may_have_a_port_and_all_others() {
        let mut listeners = Listeners::default();
        listeners.add("one", "127.0.0.1:80");
        assert!(listeners.rival("one", "127.0.0.1:*").is_none());
        listeners.add("one", "127.0.0.1:*");
        assert!(listeners.rival("one", "127.0.0.1:81").is_none());
    }

    /// Each looks at few others, however many there are.
    #[test]
    fn many_are_looked_at_in_no_time() {
        let mut listeners = Listeners::default();
        for port in 1..=u16::MAX {
            let address = format!("127.0.0.1:{port}");
            assert!(listeners.rival("one", &address).is_none());
            listeners.add("one", &address);
        }
        assert!(listeners.rival("other", "127.0.0.1:65535").is_some());
    }
}
