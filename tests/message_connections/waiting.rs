//! Waiting for many at once.

use std::io::Write;
use std::time::{Duration, Instant};

use tare::message::{wait, Call, Connection, Listener, Mode, Options, Pollable};
use tare::ErrorKind;

use crate::ends::{bytes_of, frame, ms, pair, raw_peer, soon};

#[test]
fn parts_are_taken_in_and_do_not_count() {
    let (mut first, one) = raw_peer(&Options::default());
    let (mut second, other) = raw_peer(&Options::default());
    let ends = [Pollable::from(&one), Pollable::from(&other)];
    assert!(wait(&ends, &mut Call::now()).unwrap().is_empty());
    first.write_all(&frame(b"hello")[..7]).unwrap();
    assert!(wait(&ends, &mut ms(30)).unwrap().is_empty());
    assert_eq!(2, one.partial_size());
    second.write_all(&frame(b"whole")).unwrap();
    assert_eq!(vec![1], wait(&ends, &mut soon()).unwrap());
    first.write_all(&frame(b"hello")[7..]).unwrap();
    assert_eq!(vec![0, 1], wait(&ends, &mut soon()).unwrap());
    assert_eq!(b"hello", &*bytes_of(one.receive(&mut Call::now()).unwrap()));
    assert_eq!(vec![1], wait(&ends, &mut soon()).unwrap());
    other.receive(&mut Call::now()).unwrap();
    // An end is ready, too, and stays so.
    drop(first);
    assert_eq!(vec![0], wait(&ends, &mut soon()).unwrap());
    assert_eq!(vec![0], wait(&ends, &mut soon()).unwrap());
    second.write_all(b"GET / HTTP").unwrap();
    assert_eq!(vec![0, 1], wait(&ends, &mut soon()).unwrap());
    assert_eq!(ErrorKind::Usage, wait(&[], &mut soon()).unwrap_err().kind());
    one.close(&mut soon()).unwrap();
    assert_eq!(
        ErrorKind::Usage,
        wait(&ends, &mut soon()).unwrap_err().kind()
    );
}

#[test]
fn messages_that_came_together_are_all_announced() {
    let (mut peer, conn) = raw_peer(&Options::default());
    peer.write_all(&frame(b"x").repeat(100)).unwrap();
    for _ in 0..100 {
        assert_eq!(vec![0], wait(&[(&conn).into()], &mut ms(0)).unwrap());
        conn.receive(&mut Call::now()).unwrap().unwrap();
    }
    assert!(wait(&[(&conn).into()], &mut ms(0)).unwrap().is_empty());
}

#[test]
fn listeners_count() {
    let listener = Listener::open("tcp://:0", &Options::listening()).unwrap();
    let ends = [Pollable::from(&listener)];
    assert!(wait(&ends, &mut ms(10)).unwrap().is_empty());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            Connection::open(listener.url(), Mode::Both, &Options::default(), &mut soon()).unwrap()
        });
        assert_eq!(vec![0], wait(&ends, &mut soon()).unwrap());
    });
    listener.accept(&mut Call::now()).unwrap();
}

#[test]
fn a_slow_message_is_an_error_that_is_ready() {
    let slow = Options {
        message_timeout: Some(Duration::from_millis(60)),
        ..Options::default()
    };
    let (mut peer, conn) = raw_peer(&slow);
    peer.write_all(&frame(b"hello")[..6]).unwrap();
    assert_eq!(vec![0], wait(&[(&conn).into()], &mut soon()).unwrap());
    let error = conn.receive(&mut soon()).unwrap_err();
    assert!(error.to_string().contains("message_timeout"), "{error}");
}

#[test]
fn a_flooding_peer_starves_nobody() {
    let (mut flood, busy) = raw_peer(&Options::default());
    let (mut quiet, other) = raw_peer(&Options::default());
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let piece = frame(&[1; 100]).repeat(1000);
            while flood.write_all(&piece).is_ok() {}
        });
        let ends = [Pollable::from(&busy), Pollable::from(&other)];
        assert_eq!(vec![0], wait(&ends, &mut soon()).unwrap());
        quiet.write_all(&frame(b"me too")).unwrap();
        let mut rounds = 0;
        while !wait(&ends, &mut soon()).unwrap().contains(&1) {
            busy.take(usize::MAX, usize::MAX, &mut |_| Ok(())).unwrap();
            rounds += 1;
            assert!(rounds < 3, "the quiet one waits");
        }
        busy.abandon(&mut Call::now()).unwrap();
    });
}

/// Resident memory of this process, in bytes.
#[cfg(target_os = "linux")]
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    let kibibytes: usize = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kibibytes << 10
}

#[cfg(target_os = "linux")]
#[test]
fn a_thousand_idle_connections_cost_little() {
    // Two descriptors each.
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let count = limit
        .current
        .map_or(1000, |most| (most as usize - 100).min(2000) / 2);
    let mut pairs = Vec::new();
    let before = resident();
    for _ in 0..count {
        pairs.push(pair());
    }
    let ends: Vec<Pollable<'_>> = pairs.iter().map(|(one, _)| one.into()).collect();
    // Each has received and sent: what it needed for that is given back.
    for (one, other) in &pairs {
        other.send(&[1; 1000], false, &mut soon()).unwrap();
        one.receive(&mut soon()).unwrap().unwrap();
        one.send(&[2; 1000], false, &mut soon()).unwrap();
        other.receive(&mut soon()).unwrap().unwrap();
    }
    assert!(wait(&ends, &mut Call::now()).unwrap().is_empty());
    let each = resident().saturating_sub(before) / (2 * count);
    assert!(each < 16 << 10, "{each} bytes of each connection");
    let best = (0..50)
        .map(|_| {
            let began = Instant::now();
            assert!(wait(&ends, &mut Call::now()).unwrap().is_empty());
            began.elapsed()
        })
        .min()
        .unwrap();
    println!("{count} idle connections: {best:?} to look at, {each} bytes each");
    assert!(best < Duration::from_millis(5), "{best:?}");
    pairs[count / 2].1.send(b"x", false, &mut soon()).unwrap();
    assert_eq!(vec![count / 2], wait(&ends, &mut soon()).unwrap());
}
