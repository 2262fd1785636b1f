//! Waiting for sockets.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::Timespec;

/// Sockets that are waited for, each known by a number.
pub(crate) struct Poll {
    epoll: OwnedFd,
    events: Vec<Event>,
}

/// What a socket is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    Readable,
    Writable,
}

impl Until {
    fn flags(self) -> EventFlags {
        match self {
            Self::Readable => EventFlags::IN,
            Self::Writable => EventFlags::OUT,
        }
    }
}

impl Poll {
    pub(crate) fn new() -> Result<Self, Errno> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        Ok(Self { epoll, events: Vec::with_capacity(1024) })
    }

    pub(crate) fn add(&self, socket: impl AsFd, number: u64, until: Until) -> Result<(), Errno> {
        epoll::add(&self.epoll, socket, EventData::new_u64(number), until.flags())
    }

    pub(crate) fn change(&self, socket: impl AsFd, number: u64, until: Until) -> Result<(), Errno> {
        epoll::modify(&self.epoll, socket, EventData::new_u64(number), until.flags())
    }

    /// The numbers of sockets that are ready, after this time at the latest.
    pub(crate) fn wait(&mut self, most: Duration) -> Result<Vec<u64>, Errno> {
        let timeout = Timespec {
            tv_sec: i64::try_from(most.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(most.subsec_nanos()),
        };
        self.events.clear();
        match epoll::wait(
            &self.epoll,
            rustix::buffer::spare_capacity(&mut self.events),
            Some(&timeout),
        ) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
        Ok(self.events.iter().map(|event| event.data.u64()).collect())
    }
}
