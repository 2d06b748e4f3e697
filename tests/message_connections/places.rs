//! Each URL both ways, and what is particular to each.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use tare::message::{is_timeout, wait, Call, Connection, Framing, Listener, Mode, Options, Url};
use tare::ErrorKind;

use crate::ends::{bytes_of, frame, ms, pair_with, soon, Folder};

fn open(url: &str, mode: Mode, options: &Options) -> Connection {
    Connection::open(url, mode, options, &mut soon()).unwrap()
}

/// Small and large messages, in both directions of a socket.
fn both_ways(one: &Connection, other: &Connection) {
    for length in [0, 1, 5, 65_536, 65_537, 1 << 20, 3 << 20] {
        let payload = vec![length as u8; length];
        std::thread::scope(|scope| {
            scope.spawn(|| one.send(&payload, length == 5, &mut soon()).unwrap());
            let received = other.receive(&mut soon()).unwrap().unwrap();
            assert_eq!(
                (length, length == 5),
                (received.length, received.compressed)
            );
            assert!(received.bytes == payload);
        });
    }
}

#[test]
fn tcp_both_ways() {
    let listener = Listener::open("tcp://127.0.0.1:0", &Options::listening()).unwrap();
    let client = open(listener.url(), Mode::Both, &Options::default());
    let (server, peer) = listener.accept(&mut soon()).unwrap();
    assert!(peer.starts_with("tcp://127.0.0.1:"), "{peer}");
    both_ways(&client, &server);
    both_ways(&server, &client);
}

#[test]
fn unix_both_ways_with_mode_0600_and_a_stale_file() {
    let folder = Folder::new();
    let url = folder.url("unix", "s");
    let listener = Listener::open(&url, &Options::listening()).unwrap();
    let mode = std::fs::metadata(folder.path("s")).unwrap().permissions();
    assert_eq!(0o600, mode.mode() & 0o777);
    let client = open(&url, Mode::Both, &Options::default());
    let (server, _) = listener.accept(&mut soon()).unwrap();
    both_ways(&client, &server);
    both_ways(&server, &client);

    // Somebody listens: the file is not stale.
    let error = Listener::open(&url, &Options::listening()).unwrap_err();
    assert_eq!(ErrorKind::Io, error.kind());
    listener.close();
    assert!(!folder.path("s").exists());

    // Nobody listens any more.
    drop(std::os::unix::net::UnixListener::bind(folder.path("s")).unwrap());
    assert!(folder.path("s").exists());
    let again = Listener::open(&url, &Options::listening()).unwrap();
    open(&url, Mode::Both, &Options::default());
    drop(again);

    // What is no socket is not removed.
    std::fs::write(folder.path("s"), b"mine").unwrap();
    Listener::open(&url, &Options::listening()).unwrap_err();
    assert_eq!(b"mine", &*std::fs::read(folder.path("s")).unwrap());
}

#[cfg(target_os = "linux")]
#[test]
fn abstract_sockets() {
    let url = format!("unix:@tare-test-{}", std::process::id());
    let listener = Listener::open(&url, &Options::listening()).unwrap();
    let client = open(&url, Mode::Both, &Options::default());
    let (server, _) = listener.accept(&mut soon()).unwrap();
    both_ways(&client, &server);
}

#[test]
fn a_port_in_use_says_so() {
    let listener = Listener::open("tcp://127.0.0.1:0", &Options::listening()).unwrap();
    let error = Listener::open(listener.url(), &Options::listening()).unwrap_err();
    assert!(error.to_string().contains(listener.url()), "{error}");
    let source = std::error::Error::source(&error).unwrap();
    let source = source.downcast_ref::<std::io::Error>().unwrap();
    assert_eq!(std::io::ErrorKind::AddrInUse, source.kind());
}

#[test]
fn connecting_tries_again_until_somebody_listens() {
    let folder = Folder::new();
    let url = folder.url("unix", "late");
    let patient = Options {
        retry: Some(Duration::from_secs(10)),
        ..Options::default()
    };
    std::thread::scope(|scope| {
        let client = scope.spawn(|| open(&url, Mode::Both, &patient));
        std::thread::sleep(Duration::from_millis(60));
        let listener = Listener::open(&url, &Options::listening()).unwrap();
        listener.accept(&mut soon()).unwrap();
        client.join().unwrap();
    });
    let hasty = Options {
        retry: Some(Duration::from_millis(50)),
        ..Options::default()
    };
    let url = folder.url("unix", "never");
    let began = Instant::now();
    let error = Connection::open(&url, Mode::Both, &hasty, &mut soon()).unwrap_err();
    assert!(!is_timeout(&error), "{error}");
    assert!(began.elapsed() > Duration::from_millis(45));
    Connection::open(&url, Mode::Both, &Options::default(), &mut soon()).unwrap_err();
}

#[test]
fn a_fifo_is_made_and_its_writer_waits_for_a_reader() {
    let folder = Folder::new();
    let url = folder.url("fifo", "pipe");
    let began = Instant::now();
    let error = Connection::open(&url, Mode::Write, &Options::default(), &mut ms(80)).unwrap_err();
    assert!(error.to_string().contains("pipe"), "{error}");
    assert!(began.elapsed() > Duration::from_millis(70));
    let mode = std::fs::metadata(folder.path("pipe"))
        .unwrap()
        .permissions();
    assert_eq!(0o600, mode.mode() & 0o777);

    let sized = Options {
        pipe_size: Some(1 << 18),
        ..Options::default()
    };
    let reader = open(&url, Mode::Read, &sized);
    // No writer yet is no end.
    assert!(!reader.poll(&mut ms(20)).unwrap());
    assert_eq!("ok", reader.state().unwrap().name());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let writer = open(&url, Mode::Write, &Options::default());
            writer.send(&vec![7; 1 << 20], false, &mut soon()).unwrap();
            writer.close(&mut soon()).unwrap();
        });
        assert_eq!(
            vec![7; 1 << 20],
            bytes_of(reader.receive(&mut soon()).unwrap())
        );
    });
    assert!(reader.receive(&mut soon()).unwrap().is_none());
    assert_eq!("ended", reader.state().unwrap().name());
    let error = reader.send(b"x", false, &mut soon()).unwrap_err();
    assert_eq!(ErrorKind::Usage, error.kind());

    std::fs::write(folder.path("file"), b"").unwrap();
    let url = folder.url("fifo", "file");
    let error = Connection::open(&url, Mode::Read, &Options::default(), &mut soon()).unwrap_err();
    assert_eq!(ErrorKind::Usage, error.kind());
}

#[test]
fn a_reader_that_keeps_a_fifo_outlives_its_writers() {
    let folder = Folder::new();
    let url = folder.url("fifo", "pipe");
    let keep = Options {
        keep: true,
        ..Options::default()
    };
    let reader = open(&url, Mode::Read, &keep);
    for round in 0..3_u8 {
        let writer = open(&url, Mode::Write, &Options::default());
        writer.send(&[round], false, &mut soon()).unwrap();
        writer.close(&mut soon()).unwrap();
        assert_eq!(vec![round], bytes_of(reader.receive(&mut soon()).unwrap()));
        assert!(!reader.poll(&mut ms(5)).unwrap(), "no end");
    }
}

#[test]
fn two_atomic_writers_do_not_mix() {
    let folder = Folder::new();
    let url = folder.url("fifo", "pipe");
    let keep = Options {
        keep: true,
        ..Options::default()
    };
    let atomic = Options {
        atomic: true,
        hello: Some("raw".into()),
        ..Options::default()
    };
    let reader = open(&url, Mode::Read, &keep);
    std::thread::scope(|scope| {
        for own in [1_u8, 2] {
            let (url, atomic) = (&url, &atomic);
            scope.spawn(move || {
                let writer = open(url, Mode::Write, atomic);
                for round in 0..2000_usize {
                    let payload = vec![own; 1 + (round * 37) % 4000];
                    writer.queue(&payload, false).unwrap();
                    if round % 7 == 0 {
                        writer.flush(&mut soon()).unwrap();
                    }
                }
                let error = writer.send(&vec![0; 4096], false, &mut soon()).unwrap_err();
                assert_eq!(ErrorKind::Limit, error.kind());
                writer.close(&mut soon()).unwrap();
            });
        }
        let mut seen = [0_usize; 3];
        for _ in 0..4000 {
            let message = bytes_of(reader.receive(&mut soon()).unwrap());
            let own = message[0] as usize;
            assert!(message.iter().all(|byte| *byte as usize == own));
            assert_eq!(1 + (seen[own] * 37) % 4000, message.len());
            seen[own] += 1;
        }
        assert_eq!([0, 2000, 2000], seen);
    });
    assert_eq!(None, reader.peer_codec());
}

#[test]
fn a_file_has_checksums_and_is_followed() {
    let folder = Folder::new();
    let url = folder.url("file", "log");
    let writer = open(&url, Mode::Write, &Options::default());
    let follow = Options {
        follow: true,
        ..Options::default()
    };
    let follower = open(&url, Mode::Read, &follow);
    assert!(!follower.poll(&mut ms(15)).unwrap());
    writer.send(b"one", false, &mut soon()).unwrap();
    assert_eq!(b"one", &*bytes_of(follower.receive(&mut soon()).unwrap()));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(30));
            writer.send(b"two", false, &mut soon()).unwrap();
        });
        assert_eq!(vec![0], wait(&[(&follower).into()], &mut soon()).unwrap());
    });
    assert_eq!(b"two", &*bytes_of(follower.receive(&mut soon()).unwrap()));
    writer.close(&mut soon()).unwrap();

    let mut bytes = std::fs::read(folder.path("log")).unwrap();
    assert_eq!(0xE4, bytes[0], "with a checksum");
    bytes[6] ^= 1;
    std::fs::write(folder.path("log"), &bytes).unwrap();
    let reader = open(&url, Mode::Read, &Options::default());
    let error = reader.receive(&mut soon()).unwrap_err();
    assert_eq!(ErrorKind::ChecksumMismatch, error.kind());
    assert_eq!("bad_checksum", reader.state().unwrap().name());
}

#[test]
fn appending_checks_the_tail_and_repairs_it() {
    let folder = Folder::new();
    let url = folder.url("file", "log");
    let synced = Options {
        sync: true,
        ..Options::default()
    };
    let writer = open(&url, Mode::Append, &synced);
    writer.send(b"one", false, &mut soon()).unwrap();
    writer.flush(&mut soon()).unwrap();
    // As one that was killed: without END.
    writer.abandon(&mut soon()).unwrap();
    let writer = open(&url, Mode::Append, &Options::default());
    writer.send(b"two", false, &mut soon()).unwrap();
    writer.close(&mut soon()).unwrap();
    let writer = open(&url, Mode::Append, &Options::default());
    writer.send(b"three", false, &mut soon()).unwrap();
    writer.close(&mut soon()).unwrap();
    let all = |count: usize| {
        let reader = open(&url, Mode::Read, &Options::default());
        let all = reader.receive_all(9, &mut soon()).unwrap();
        assert_eq!(count, all.len());
        reader.state().unwrap().name()
    };
    assert_eq!("ended", all(3));

    let whole = std::fs::read(folder.path("log")).unwrap();
    let mut cut = whole.clone();
    cut.extend_from_slice(&frame(b"a message that was never finished")[..20]);
    std::fs::write(folder.path("log"), &cut).unwrap();
    let error = Connection::open(&url, Mode::Append, &Options::default(), &mut soon()).unwrap_err();
    assert_eq!(ErrorKind::Truncated, error.kind());
    assert_eq!(Some(whole.len() as u64), error.offset());
    assert!(error.to_string().contains("repair"), "{error}");
    assert_eq!(cut, std::fs::read(folder.path("log")).unwrap());
    let repair = Options {
        repair: true,
        ..Options::default()
    };
    open(&url, Mode::Append, &repair)
        .abandon(&mut soon())
        .unwrap();
    assert_eq!(whole, std::fs::read(folder.path("log")).unwrap());

    std::fs::write(folder.path("log"), b"GET / HTTP/1.1\r\n").unwrap();
    let error = Connection::open(&url, Mode::Append, &repair, &mut soon()).unwrap_err();
    assert_eq!(ErrorKind::Malformed, error.kind());
}

#[test]
fn descriptors_are_taken_over() {
    use std::os::fd::IntoRawFd;
    let (out, into) = rustix::pipe::pipe().unwrap();
    let (out, into) = (out.into_raw_fd(), into.into_raw_fd());
    let writer = open(&format!("fd:{into}"), Mode::Both, &Options::default());
    let reader = open(&format!("fd:{out}"), Mode::Both, &Options::default());
    assert_eq!((Mode::Write, Mode::Read), (writer.mode(), reader.mode()));
    assert_eq!(out, reader.fileno().unwrap());
    writer.send(b"hi", false, &mut soon()).unwrap();
    drop(writer);
    assert_eq!(b"hi", &*bytes_of(reader.receive(&mut soon()).unwrap()));
    assert!(reader.receive(&mut soon()).unwrap().is_none());
    assert_eq!("eof_clean", reader.state().unwrap().name());
    let closed = Connection::open("fd:1000000", Mode::Both, &Options::default(), &mut soon());
    assert_eq!(ErrorKind::Io, closed.unwrap_err().kind());
}

#[test]
fn urls_that_are_none() {
    for text in [
        "",
        "tcp",
        "tcp:",
        "tcp://",
        "tcp://host",
        "tcp://host:",
        "tcp://host:99999",
        "tcp://host:+1",
        "tcp://::1:80",
        "tcp://a b:1",
        "unix:",
        "unix:@",
        "fifo:",
        "file:",
        "fd:",
        "fd:-1",
        "fd:x",
        "fd:4294967295",
        "http://host:80",
        "file:a\0b",
        "tcp://u@h:1",
        "tcp://h:1/x",
    ] {
        let error = Url::parse(text).unwrap_err();
        assert_eq!(ErrorKind::Usage, error.kind(), "{text}");
    }
    for text in [
        "tcp://a.b:0",
        "tcp://[::1]:80",
        "unix:a b",
        "unix:@x",
        "fifo:/p",
        "file:p:q",
        "fd:3",
        "-",
    ] {
        assert_eq!(text, Url::parse(text).unwrap().to_string());
    }
    for (url, mode) in [
        ("tcp://:1", Mode::Read),
        ("fifo:/tmp/x", Mode::Both),
        ("file:/x", Mode::Both),
        ("-", Mode::Both),
    ] {
        let error = Connection::open(url, mode, &Options::default(), &mut Call::now()).unwrap_err();
        assert_eq!(ErrorKind::Usage, error.kind(), "{url}");
    }
}

#[test]
fn values_of_other_programs_pass() {
    for (framing, payload) in [
        (Framing::Msgpack, &b"\x93\x01\x02\x03"[..]),
        (Framing::Cbor, b"\x83\x01\x02\x03"),
        (Framing::Ndjson, b"[1,2,3]"),
        (Framing::Wrap, b"anything"),
    ] {
        let options = Options {
            framing,
            ..Options::default()
        };
        let (one, other) = pair_with(&options, &options);
        for _ in 0..3 {
            one.send(payload, false, &mut soon()).unwrap();
        }
        one.close(&mut soon()).unwrap();
        let all = other.receive_all(9, &mut soon()).unwrap();
        assert_eq!(3, all.len());
        assert!(all.iter().all(|one| one.bytes == payload));
        assert_eq!("eof_clean", other.state().unwrap().name());
    }
}
