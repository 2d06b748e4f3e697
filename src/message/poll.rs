//! Waiting for several connections at once.

use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use super::deadline::SLICE;
use super::listener::Watched;
use super::wire::{is_timeout, Stream};
use super::{Call, Connection, Listener};
use crate::{Error, ErrorKind, Result};

/// A file that is followed is looked at this often.
const FOLLOW: Duration = Duration::from_millis(10);

/// What [`wait`] waits for: connections and listeners.
#[derive(Clone, Copy, Debug)]
pub enum Pollable<'a> {
    /// Ready with a whole message, an end or an error.
    Connection(&'a Connection),
    /// Ready when somebody may come in.
    Listener(&'a Listener),
}

impl<'a> From<&'a Connection> for Pollable<'a> {
    fn from(connection: &'a Connection) -> Self {
        Self::Connection(connection)
    }
}

impl<'a> From<&'a Listener> for Pollable<'a> {
    fn from(listener: &'a Listener) -> Self {
        Self::Listener(listener)
    }
}

/// Waits until one of `ends` is ready, and gives the indices of all that are, in order; none at
/// the deadline.
///
/// Part of a message is taken in and does not count. At most 1 MiB is read of one connection
/// before the next is looked at, so that none starves another.
///
/// # Errors
/// `Usage` for nothing to wait for, and for what was closed here; from the check of the call.
///
/// # Example
/// ```
/// use tare::message::{wait, Call, Connection, Mode, Options};
/// let (one, other) = std::os::unix::net::UnixStream::pair()?;
/// let one = Connection::over(one.into(), Mode::Both, &Options::default())?;
/// let other = Connection::over(other.into(), Mode::Both, &Options::default())?;
/// assert!(wait(&[(&one).into(), (&other).into()], &mut Call::now())?.is_empty());
/// one.send(b"hi", false, &mut Call::forever())?;
/// assert_eq!(vec![1], wait(&[(&one).into(), (&other).into()], &mut Call::forever())?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn wait(ends: &[Pollable<'_>], call: &mut Call<'_>) -> Result<Vec<usize>> {
    if ends.is_empty() {
        return Err(Error::new(ErrorKind::Usage, "nothing to wait for"));
    }
    let mut ready = vec![false; ends.len()];
    // What was taken in before comes before the system is asked.
    let mut some = false;
    for (end, ready) in ends.iter().zip(&mut ready) {
        if let Pollable::Connection(connection) = end {
            *ready = connection.look(false)? == Some(true);
            some |= *ready;
        }
    }
    loop {
        let over = call.is_over();
        let outcome = round(ends, &mut ready, some, call);
        some = match outcome {
            Ok(found) => found || some,
            Err(error) if is_timeout(&error) => false,
            Err(error) => return Err(error),
        };
        if some || over {
            let indices = ready.iter().enumerate();
            return Ok(indices
                .filter_map(|(index, ready)| ready.then_some(index))
                .collect());
        }
    }
}

/// Asks the system once, and looks at what it names; whether something is ready.
fn round(
    ends: &[Pollable<'_>],
    ready: &mut [bool],
    some: bool,
    call: &mut Call<'_>,
) -> Result<bool> {
    let mut watched: Vec<(usize, Watched, PollFlags)> = Vec::with_capacity(ends.len());
    let mut due: Option<Instant> = None;
    // Those that poll(2) says nothing about: files that are followed, and what others hold.
    let mut unasked: Vec<usize> = Vec::new();
    let mut most = SLICE;
    for (index, end) in ends.iter().enumerate() {
        match end {
            Pollable::Connection(connection) => match connection.watched() {
                Some((link, _, _)) if link.stream == Stream::File => {
                    unasked.push(index);
                    most = FOLLOW;
                }
                Some((link, writes, begun)) => {
                    let mut events = PollFlags::IN;
                    events.set(PollFlags::OUT, writes);
                    due = [due, begun].into_iter().flatten().min();
                    watched.push((index, Watched::Link(link), events));
                }
                None => most = FOLLOW,
            },
            Pollable::Listener(listener) => {
                unasked.push(index);
                let all = listener.watched().into_iter();
                watched.extend(all.map(|one| (index, one, PollFlags::IN)));
            }
        }
    }
    let mut fds: Vec<PollFd<'_>> = watched
        .iter()
        .map(|(_, one, events)| PollFd::from_borrowed_fd(one.fd(), *events))
        .collect();
    let quick = some || look_unasked(ends, ready, &unasked)?;
    if quick {
        super::deadline::poll(&mut fds, Duration::ZERO)?;
    } else {
        call.slice(&mut fds, due, most, "nothing is ready")?;
    }
    let late = due.is_some_and(|due| due <= Instant::now());
    let mut found = quick;
    for (fd, (index, _, _)) in fds.iter().zip(&watched) {
        if fd.revents().is_empty() && !late {
            continue;
        }
        if let (Some(Pollable::Connection(connection)), Some(ready)) =
            (ends.get(*index), ready.get_mut(*index))
        {
            *ready = *ready || connection.look(true)? == Some(true);
            found |= *ready;
        }
    }
    Ok(look_unasked(ends, ready, &unasked)? || found)
}

fn look_unasked(ends: &[Pollable<'_>], ready: &mut [bool], unasked: &[usize]) -> Result<bool> {
    let mut found = false;
    for index in unasked {
        let (Some(end), Some(ready)) = (ends.get(*index), ready.get_mut(*index)) else {
            continue;
        };
        *ready = *ready
            || match end {
                Pollable::Connection(connection) => connection.look(true)? == Some(true),
                Pollable::Listener(listener) => listener.look()?,
            };
        found |= *ready;
    }
    Ok(found)
}
