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
    /// Who is in the way of another one at `address`, which was granted.
    pub fn rival(&self, address: &str) -> Option<&Owner> {
        places(address).iter().find_map(|place| self.rival_at(place))
    }

    /// `name` listens on `address`.
    pub fn add(&mut self, name: &str, address: &str) {
        for place in places(address) {
            self.0.entry(place).or_insert_with(|| (name.to_owned(), address.to_owned()));
        }
    }

    fn rival_at(&self, place: &Place) -> Option<&Owner> {
        let Place::Socket { is_udp, port, host } = place else { return self.0.get(place) };
        let at = |port: Port, host: &Host| {
            self.0.get(&Place::Socket { is_udp: *is_udp, port, host: host.clone() })
        };
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
        let is_his = |other: &Host| other == host || [other, host].contains(&&Host::Every);
        let among = |first, last| all(first, last).find(|(other, _)| is_his(other)).map(|(_, owner)| owner);
        match (port, host) {
            // Two that may have any port each find one; one that has a port wants that.
            (Port::Every, _) => among(Port::Is(1), Port::Is(u16::MAX)),
            (Port::Is(_), Host::Every) => among(*port, *port).or_else(|| among(Port::Every, Port::Every)),
            (Port::Is(_), Host::Is(_)) => [*port, Port::Every]
                .into_iter()
                .find_map(|port| at(port, host).or_else(|| at(port, &Host::Every))),
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
