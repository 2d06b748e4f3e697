//! Senders and receivers of different speed: what waits is bounded, and nothing is lost.

use std::time::Duration;

use tare::message::{is_timeout, Call, Options};

use crate::ends::{bytes_of, ms, pair, pair_with, raw_peer, soon};

#[test]
fn a_peer_that_never_reads_holds_the_sender_at_the_mark() {
    let (_peer, conn) = raw_peer(&Options::default());
    let mut sent = 0_u64;
    let error = loop {
        match conn.send(&vec![1; 100_000], false, &mut ms(3)) {
            Ok(()) => sent += 1,
            Err(error) => break error,
        }
        assert!(sent < 1000, "it waits");
    };
    assert!(is_timeout(&error));
    let facts = conn.facts();
    // The message of the error was not queued: it can be sent again.
    assert_eq!(sent, facts.messages_out);
    assert!(
        facts.unsent > 1 << 20 && facts.unsent <= (1 << 20) + 100_005,
        "{facts:?}"
    );
    assert!(conn
        .close(&mut ms(5))
        .is_err_and(|error| is_timeout(&error)));
    assert!(conn.is_closed());
}

#[test]
fn what_was_queued_at_a_deadline_arrives_once() {
    let (one, other) = pair();
    let mut sent = 0_usize;
    let number = |index: usize| vec![index as u8; 30_000 + index];
    while one.send(&number(sent), false, &mut ms(1)).is_ok() {
        sent += 1;
    }
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for index in sent..sent + 20 {
                one.send(&number(index), false, &mut soon()).unwrap();
            }
            one.close(&mut soon()).unwrap();
        });
        for index in 0..sent + 20 {
            assert!(
                number(index) == bytes_of(other.receive(&mut soon()).unwrap()),
                "{index}"
            );
        }
    });
    assert!(other.receive(&mut soon()).unwrap().is_none());
    assert_eq!("ended", other.state().unwrap().name());
}

#[test]
fn both_ends_send_at_once() {
    let (one, other) = pair();
    let payload = vec![9; 64 << 20];
    std::thread::scope(|scope| {
        for (from, to) in [(&one, &other), (&other, &one)] {
            let payload = &payload;
            scope.spawn(move || from.send(payload, false, &mut soon()).unwrap());
            scope.spawn(move || assert!(*payload == bytes_of(to.receive(&mut soon()).unwrap())));
        }
    });
}

#[test]
fn receiving_sends_what_is_queued() {
    let (one, other) = pair();
    one.queue(b"question", false).unwrap();
    assert!(one.unsent() > 0 && !one.wants_flush());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!(b"question", &*bytes_of(other.receive(&mut soon()).unwrap()));
            other.send(b"answer", false, &mut soon()).unwrap();
        });
        assert_eq!(b"answer", &*bytes_of(one.receive(&mut soon()).unwrap()));
    });
    // Two that have much queued and only receive do not wait for each other for ever.
    let big = vec![3; 3 << 20];
    one.queue(&big, false).unwrap();
    other.queue(&big, false).unwrap();
    std::thread::scope(|scope| {
        for end in [&one, &other] {
            let big = &big;
            scope.spawn(move || {
                assert!(*big == bytes_of(end.receive(&mut soon()).unwrap()));
                end.flush(&mut soon()).unwrap();
            });
        }
    });
}

#[test]
fn batches_are_taken_at_once_and_in_order() {
    let (one, other) = pair();
    let payloads: Vec<[u8; 4]> = (0..20_000_u32).map(u32::to_le_bytes).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut each = payloads.iter().map(|payload| (&payload[..], false));
            let mut queued = 0;
            while queued < payloads.len() {
                queued += one.queue_many(&mut each).unwrap();
                one.flush(&mut soon()).unwrap();
            }
            one.close(&mut soon()).unwrap();
        });
        let mut next = 0_u32;
        let mut calls = 0;
        loop {
            other.await_ready(&mut soon()).unwrap();
            let taken = other
                .take(usize::MAX, usize::MAX, &mut |message| {
                    assert_eq!(next.to_le_bytes(), message.bytes);
                    assert_eq!(u64::from(next), message.number);
                    next += 1;
                    Ok(())
                })
                .unwrap();
            calls += 1;
            assert_eq!(
                u64::from(next) * 9 + if taken.at_end { 14 } else { 0 },
                taken.end
            );
            if taken.at_end {
                break;
            }
        }
        assert_eq!(20_000, next);
        assert!(calls < 2000, "{calls}");
    });
}

#[test]
fn into_a_buffer_of_the_caller() {
    let (one, other) = pair();
    let payload = vec![5; 1 << 20];
    let mut buffer = vec![0; 1 << 20];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..8 {
                one.send(&payload, true, &mut soon()).unwrap();
            }
            one.send(b"small", false, &mut soon()).unwrap();
            one.close(&mut soon()).unwrap();
        });
        for number in 0..8 {
            buffer.fill(0);
            let received = other
                .receive_into(&mut buffer, &mut soon())
                .unwrap()
                .unwrap();
            assert!(buffer == payload);
            assert_eq!(
                (number, 1 << 20, true),
                (received.number, received.length, received.compressed)
            );
        }
        // One that is too short loses nothing.
        let error = other
            .receive_into(&mut buffer[..4], &mut soon())
            .unwrap_err();
        assert_eq!(Some("5"), error.detail("needed"));
        let received = other
            .receive_into(&mut buffer, &mut soon())
            .unwrap()
            .unwrap();
        assert_eq!(b"small", &buffer[..received.length]);
        assert!(other
            .receive_into(&mut buffer, &mut soon())
            .unwrap()
            .is_none());
    });
    let (one, other) = pair();
    std::thread::scope(|scope| {
        scope.spawn(|| one.send(&payload, false, &mut soon()).unwrap());
        let error = other
            .receive_into(&mut buffer[..100], &mut soon())
            .unwrap_err();
        assert_eq!(tare::ErrorKind::Limit, error.kind());
        assert!(payload == bytes_of(other.receive(&mut soon()).unwrap()));
    });
}

#[test]
fn two_threads_take_turns() {
    let (one, other) = pair_with(&Options::default(), &Options::default());
    std::thread::scope(|scope| {
        for own in 0..4_u8 {
            let one = &one;
            scope.spawn(move || {
                for _ in 0..50 {
                    one.send(&vec![own; 70_000], false, &mut soon()).unwrap();
                }
            });
        }
        let readers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let message = bytes_of(other.receive(&mut soon()).unwrap());
                        assert!(message.iter().all(|byte| *byte == message[0]));
                    }
                })
            })
            .collect();
        for reader in readers {
            reader.join().unwrap();
        }
    });
    assert_eq!(200, other.facts().messages_in);
    assert!(!other.poll(&mut Call::within(Duration::ZERO)).unwrap());
}
