//! A client and a server that show what becomes of each single connection. Both wait with epoll, so that one processor carries
//! a thousand new connections a second.
//!
//! - [`serve`] answers with the name of its cluster and Pod, over TCP and UDP, and can be made unready;
//! - [`call`] opens a connection for each request, from several addresses in turn, at a constant rate whatever the answers take,
//!   and closes it by reset, so that no port is left waiting;
//! - [`stream`] keeps one connection, and sends a byte at a time; [`flow`] sends datagrams from one port;
//! - [`report`] is what clients print: lines of JSON, one for each tenth of a second. [`instruct`] changes what a server does.

pub mod call;
pub mod flow;
pub mod instruct;
mod poll;
pub mod report;
pub mod serve;
pub mod stream;
