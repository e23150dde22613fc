//! Emulated system calls, through the one door that modules have: `dispatch`.
mod guest;

mod confinement;
mod deadlines;
mod descriptors;
mod files;
mod functions;
mod futexes;
mod hostile;
mod identity;
mod locks;
mod memory;
mod own_file;
mod servers;
mod signals;
mod sockets;
mod table;
mod time;
