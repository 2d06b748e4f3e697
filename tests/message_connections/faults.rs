//! System calls that move little, are interrupted or fail; descriptors closed beneath us.

use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;

use rustix::io::Errno;
use tare::message::{is_timeout, Connection, Mode, Options};
use tare::{Error, ErrorKind};

use crate::ends::{bytes_of, ms, soon};
use crate::misbehaving::{Fault, Misbehaving};

/// A connection with spoilt calls, and a good one at its other end.
fn spoilt(wire: &Misbehaving) -> (Connection, Connection) {
    let (a, b) = UnixStream::pair().unwrap();
    let options = Options::default();
    (
        Connection::over_wire(a.into(), Box::new(wire.clone()), Mode::Both, &options).unwrap(),
        Connection::over(b.into(), Mode::Both, &options).unwrap(),
    )
}

fn code_of(error: &Error) -> Option<i32> {
    let source = std::error::Error::source(error)?;
    source.downcast_ref::<std::io::Error>()?.raw_os_error()
}

fn payloads() -> Vec<Vec<u8>> {
    let sizes = [0, 1, 4, 300, 65_536, 70_000];
    sizes.iter().map(|size| vec![*size as u8; *size]).collect()
}

fn exchange(wire: &Misbehaving) {
    let (one, other) = spoilt(wire);
    for (from, to) in [(&one, &other), (&other, &one)] {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for payload in payloads() {
                    from.send(&payload, false, &mut soon()).unwrap();
                }
            });
            for payload in payloads() {
                assert!(payload == bytes_of(to.receive(&mut soon()).unwrap()));
            }
        });
    }
    let mut buffer = vec![0; 70_000];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for payload in payloads() {
                other.send(&payload, false, &mut soon()).unwrap();
            }
        });
        for payload in payloads() {
            let received = one.receive_into(&mut buffer, &mut soon()).unwrap().unwrap();
            assert!(payload == buffer[..received.length]);
        }
    });
}

#[test]
fn one_byte_at_a_time() {
    let wire = Misbehaving::new(|_| Some(Fault::Short(1)), |_| Some(Fault::Short(1)));
    exchange(&wire);
    let bytes: usize = payloads().iter().map(|payload| payload.len() + 5).sum();
    assert!(wire.writes.load(Ordering::Relaxed) >= bytes);
}

#[test]
fn interrupted_and_refused_for_now() {
    let now_and_then = |call: usize| match call % 3 {
        0 => Some(Fault::Errno(Errno::INTR.raw_os_error())),
        1 => Some(Fault::Errno(Errno::AGAIN.raw_os_error())),
        _ => Some(Fault::Short(1000)),
    };
    exchange(&Misbehaving::new(now_and_then, now_and_then));
}

#[test]
fn errors_of_reading_are_no_end() {
    for code in [Errno::IO, Errno::CONNRESET, Errno::PIPE] {
        let code = code.raw_os_error();
        // The first read brings a message and a half, the second fails.
        let wire = Misbehaving::new(
            move |call| (call > 0).then_some(Fault::Errno(code)),
            |_| None,
        );
        let (one, other) = spoilt(&wire);
        other.queue(b"whole", false).unwrap();
        other.flush(&mut soon()).unwrap();
        assert_eq!(b"whole", &*bytes_of(one.receive(&mut soon()).unwrap()));
        for _ in 0..3 {
            let error = one.receive(&mut soon()).unwrap_err();
            assert_eq!((ErrorKind::Io, Some(code)), (error.kind(), code_of(&error)));
            assert!(!is_timeout(&error));
        }
        assert_eq!("failed", one.state().unwrap().name());
        assert!(one.poll(&mut ms(0)).unwrap(), "an error is ready");
        // The other direction is not broken.
        one.send(b"still", false, &mut soon()).unwrap();
        assert_eq!(b"still", &*bytes_of(other.receive(&mut soon()).unwrap()));
    }
}

#[test]
fn errors_of_writing_stay() {
    let code = Errno::IO.raw_os_error();
    let wire = Misbehaving::new(
        |_| None,
        move |call| (call > 0).then_some(Fault::Errno(code)),
    );
    let (one, other) = spoilt(&wire);
    one.send(b"good", false, &mut soon()).unwrap();
    for _ in 0..2 {
        let error = one.send(&vec![1; 100_000], false, &mut soon()).unwrap_err();
        assert_eq!(Some(code), code_of(&error));
    }
    other.send(b"answer", false, &mut soon()).unwrap();
    assert_eq!(b"answer", &*bytes_of(one.receive(&mut soon()).unwrap()));
    assert_eq!(Some(code), code_of(&one.close(&mut soon()).unwrap_err()));
    assert!(one.is_closed());
    assert_eq!(b"good", &*bytes_of(other.receive(&mut soon()).unwrap()));
}

#[test]
fn a_descriptor_closed_beneath() {
    let bad = Errno::BADF.raw_os_error();
    // A number that is closed is another test's in a moment: the call alone says that it is.
    let closed = move |_| Some(Fault::Errno(bad));
    let (one, _other) = spoilt(&Misbehaving::new(closed, closed));
    assert_eq!(Some(bad), code_of(&one.receive(&mut soon()).unwrap_err()));
    let error = one.send(b"x", false, &mut soon()).unwrap_err();
    assert_eq!(Some(bad), code_of(&error));
}

#[test]
fn use_after_close() {
    let (one, other) = crate::ends::pair();
    one.close(&mut soon()).unwrap();
    one.close(&mut soon()).unwrap();
    for error in [
        one.send(b"x", false, &mut soon()).unwrap_err(),
        one.queue(b"x", false).unwrap_err(),
        one.receive(&mut soon()).unwrap_err(),
        one.fileno().unwrap_err(),
        one.poll(&mut soon()).unwrap_err(),
    ] {
        assert_eq!(ErrorKind::Usage, error.kind());
    }
    assert_eq!("closed", one.state().unwrap().name());
    assert!(other.receive(&mut soon()).unwrap().is_none());
}

#[test]
fn closing_wakes_who_waits() {
    let (one, _other) = crate::ends::pair();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| one.receive(&mut soon()));
        std::thread::sleep(std::time::Duration::from_millis(20));
        one.close(&mut soon()).unwrap();
        assert!(!matches!(waiting.join().unwrap(), Ok(Some(_))));
    });
}

#[test]
fn a_check_interrupts_each_wait() {
    use std::time::{Duration, Instant};
    let (one, _other) = crate::ends::pair();
    let stop = || Err(Error::new(ErrorKind::Cancelled, "stopped"));
    let began = Instant::now();
    for wait in 0..3 {
        let mut check = stop;
        let mut call = soon().checked(&mut check);
        let error = match wait {
            0 => one.receive(&mut call).unwrap_err(),
            1 => loop {
                if let Err(error) = one.send(&vec![0; 1 << 20], false, &mut call) {
                    break error;
                }
            },
            _ => tare::message::wait(&[(&one).into()], &mut call).unwrap_err(),
        };
        assert_eq!(ErrorKind::Cancelled, error.kind());
    }
    assert!(began.elapsed() < Duration::from_secs(5));
}
