//! The integration tests as one program, which is built and linked once. `lanes` runs each suite, a module here, in a process of its own.
mod cases;
mod encodings;
mod functions;
mod hostile;
mod linear;
mod module;
mod reading;
mod returns;
mod support;
mod tables;
