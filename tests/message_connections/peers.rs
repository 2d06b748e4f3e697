//! Peers that stop, reset, are slow, speak something else, or finish in one direction.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};

use tare::message::{is_timeout, Connection, Framing, Limits, Mode, Options};
use tare::ErrorKind;

use crate::ends::{bytes_of, frame, ms, pair, raw_peer, soon};

#[test]
fn what_a_peer_that_stopped_leaves() {
    // Each cut of two messages and an END.
    let mut stream = frame(b"one");
    let first = stream.len();
    stream.extend(frame(b"two"));
    let second = stream.len();
    stream.extend(b"\xe8\x09\0\0\0\x02\x02\0\0\0\0\0\0\0");
    for cut in 0..=stream.len() {
        let (mut peer, conn) = raw_peer(&Options::default());
        peer.write_all(&stream[..cut]).unwrap();
        drop(peer);
        let whole = usize::from(cut >= first) + usize::from(cut >= second);
        for _ in 0..whole {
            assert_eq!(3, conn.receive(&mut soon()).unwrap().unwrap().length);
        }
        let expected = match cut {
            _ if cut == stream.len() => "ended",
            _ if [0, first, second].contains(&cut) => "eof_clean",
            _ => "eof_truncated",
        };
        for _ in 0..2 {
            match conn.receive(&mut soon()) {
                Ok(None) => assert_ne!("eof_truncated", expected, "cut at {cut}"),
                Ok(Some(_)) => panic!("a message of none"),
                Err(error) => {
                    assert!(
                        error.is_truncated() && expected == "eof_truncated",
                        "cut at {cut}"
                    );
                    let begins = [0, first, second][whole];
                    assert_eq!(Some(begins as u64), error.offset());
                }
            }
        }
        assert_eq!(expected, conn.state().unwrap().name(), "cut at {cut}");
        assert!(conn.poll(&mut ms(0)).unwrap());
    }
}

#[test]
fn a_peer_that_speaks_something_else() {
    for bytes in [
        &b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"[..],
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\x80\x04\x95\x0a\x00\x00",
        b"\x00\x00\x00\x05hello",
    ] {
        let (mut peer, conn) = raw_peer(&Options::default());
        peer.write_all(bytes).unwrap();
        for _ in 0..2 {
            let error = conn.receive(&mut soon()).unwrap_err();
            assert_eq!(
                (ErrorKind::Malformed, Some(0)),
                (error.kind(), error.offset())
            );
        }
        assert_eq!("malformed", conn.state().unwrap().name());
    }
}

#[test]
fn a_forged_length_takes_no_memory() {
    let (mut peer, conn) = raw_peer(&Options::default());
    peer.write_all(b"\xe0\xff\xff\xff\x7f").unwrap();
    let error = conn.receive(&mut soon()).unwrap_err();
    assert_eq!(ErrorKind::Limit, error.kind());
    assert!(error.to_string().contains("max_message"), "{error}");
    let huge = Options {
        limits: Limits {
            max_message: u64::MAX,
            ..Limits::default()
        },
        ..Options::default()
    };
    let (mut peer, conn) = raw_peer(&huge);
    peer.write_all(b"\xe0\xff\xff\xff\x7fabc").unwrap();
    assert!(is_timeout(&conn.receive(&mut ms(20)).unwrap_err()));
    assert_eq!(b"abc", &*conn.partial().unwrap());
}

#[test]
fn a_deadline_loses_nothing() {
    let (mut peer, conn) = raw_peer(&Options::default());
    let bytes = frame(&vec![7; 200_000]);
    let mut buffer = vec![0; 200_000];
    for (index, piece) in bytes.chunks(30_001).enumerate() {
        let error = if index % 2 == 0 {
            conn.receive(&mut ms(5)).unwrap_err()
        } else {
            conn.receive_into(&mut buffer, &mut ms(5)).unwrap_err()
        };
        assert!(is_timeout(&error), "{error}");
        peer.write_all(piece).unwrap();
    }
    assert_eq!(
        vec![7; 200_000],
        bytes_of(conn.receive(&mut soon()).unwrap())
    );
    let began = Instant::now();
    assert!(is_timeout(&conn.receive(&mut ms(60)).unwrap_err()));
    let took = began.elapsed();
    assert!(
        took > Duration::from_millis(55) && took < Duration::from_secs(5),
        "{took:?}"
    );
}

#[test]
fn a_trickle_hits_the_message_timeout() {
    for into in [false, true] {
        let slow = Options {
            message_timeout: Some(Duration::from_millis(150)),
            ..Options::default()
        };
        let (mut peer, conn) = raw_peer(&slow);
        // Between messages nobody is in a hurry.
        std::thread::sleep(Duration::from_millis(170));
        peer.write_all(&frame(b"first")).unwrap();
        assert_eq!(b"first", &*bytes_of(conn.receive(&mut soon()).unwrap()));
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for byte in frame(&vec![0; 100_000]) {
                    if peer.write_all(&[byte]).is_err() {
                        return;
                    }
                    std::thread::sleep(Duration::from_millis(10));
                }
            });
            let began = Instant::now();
            let mut buffer = vec![0; 100_000];
            let error = if into {
                conn.receive_into(&mut buffer, &mut soon()).unwrap_err()
            } else {
                conn.receive(&mut soon()).unwrap_err()
            };
            assert!(error.to_string().contains("message_timeout"), "{error}");
            let took = began.elapsed();
            assert!(
                took > Duration::from_millis(140) && took < Duration::from_secs(10),
                "{took:?}"
            );
            assert_eq!("failed", conn.state().unwrap().name());
            conn.receive(&mut soon()).unwrap_err();
            conn.abandon(&mut ms(0)).unwrap();
        });
    }
}

#[test]
fn a_reset_is_an_error() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("tcp://{}", listener.local_addr().unwrap());
    let conn = Connection::open(&url, Mode::Both, &Options::default(), &mut soon()).unwrap();
    let (mut peer, _) = listener.accept().unwrap();
    conn.send(b"unread", false, &mut soon()).unwrap();
    peer.write_all(&frame(b"last")[..7]).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    // What it never read makes its end a reset.
    drop(peer);
    let error = conn.receive(&mut soon()).unwrap_err();
    assert_eq!(ErrorKind::Io, error.kind(), "{error}");
    assert_eq!("failed", conn.state().unwrap().name());
}

#[test]
fn one_direction_ends_and_the_other_goes_on() {
    let (mut peer, conn) = raw_peer(&Options::default());
    peer.write_all(&frame(b"question")).unwrap();
    peer.shutdown(Shutdown::Write).unwrap();
    assert_eq!(b"question", &*bytes_of(conn.receive(&mut soon()).unwrap()));
    assert!(conn.receive(&mut soon()).unwrap().is_none());
    conn.send(b"answer", false, &mut soon()).unwrap();
    conn.close(&mut soon()).unwrap();
    let mut all = Vec::new();
    peer.read_to_end(&mut all).unwrap();
    assert_eq!(frame(b"answer"), all[..11]);
    assert_eq!(b"\xe8\x09\0\0\0\x02\x01\0\0\0\0\0\0\0", &all[11..]);

    let (one, other) = pair();
    one.send(b"question", false, &mut soon()).unwrap();
    one.finish(&mut soon()).unwrap();
    assert_eq!(
        ErrorKind::Usage,
        one.send(b"more", false, &mut soon()).unwrap_err().kind()
    );
    assert_eq!(1, other.receive_all(9, &mut soon()).unwrap().len());
    other.send(b"answer", false, &mut soon()).unwrap();
    assert_eq!(b"answer", &*bytes_of(one.receive(&mut soon()).unwrap()));
}

#[test]
fn hello_tells_the_codec_and_a_wrong_one_is_refused() {
    let json = Options {
        hello: Some("json:orjson+zstd:3".into()),
        ..Options::default()
    };
    let msgpack = Options {
        expects: Some("msgpack".into()),
        ..Options::default()
    };
    let (one, other) = crate::ends::pair_with(&json, &msgpack);
    one.send(b"{}", false, &mut soon()).unwrap();
    for _ in 0..2 {
        let error = other.receive(&mut soon()).unwrap_err();
        assert_eq!(ErrorKind::Unsupported, error.kind());
        assert_eq!(Some("json:orjson+zstd:3"), error.detail("peer_codec"));
    }
    let same = Options {
        expects: Some("json:msgspec".into()),
        ..Options::default()
    };
    let (one, other) = crate::ends::pair_with(&json, &same);
    one.send(b"{}", false, &mut soon()).unwrap();
    assert_eq!(b"{}", &*bytes_of(other.receive(&mut soon()).unwrap()));
    assert_eq!(Some("json:orjson+zstd:3"), other.peer_codec().as_deref());
}

#[test]
fn detaching_gives_what_was_read_ahead() {
    let (mut peer, conn) = raw_peer(&Options::default());
    let mut bytes = frame(b"mine");
    bytes.extend_from_slice(b"the rest is for another reader");
    peer.write_all(&bytes).unwrap();
    assert_eq!(b"mine", &*bytes_of(conn.receive(&mut soon()).unwrap()));
    let number = conn.fileno().unwrap();
    let (fd, ahead) = conn.detach(&mut soon()).unwrap();
    assert_eq!(b"the rest is for another reader", &*ahead);
    assert_eq!(number, std::os::fd::AsRawFd::as_raw_fd(&fd));
    assert!(conn.is_closed());
    let mut stream = std::os::unix::net::UnixStream::from(fd);
    peer.write_all(b"more").unwrap();
    let mut more = [0; 4];
    stream.read_exact(&mut more).unwrap();
    assert_eq!(b"more", &more);
}

#[test]
fn a_pipe_gets_its_mode_back() {
    let (out, into) = rustix::pipe::pipe().unwrap();
    let other = into.try_clone().unwrap();
    let blocks = || {
        !rustix::fs::fcntl_getfl(&other)
            .unwrap()
            .contains(rustix::fs::OFlags::NONBLOCK)
    };
    let conn = Connection::over(into, Mode::Write, &Options::default()).unwrap();
    assert!(!blocks());
    conn.close(&mut soon()).unwrap();
    assert!(blocks());
    drop(out);
}

#[test]
fn lines_are_whole_at_the_end_of_a_file_only() {
    let lines = Options {
        framing: Framing::Ndjson,
        ..Options::default()
    };
    let (mut peer, conn) = raw_peer(&lines);
    peer.write_all(b"1\n12").unwrap();
    drop(peer);
    assert_eq!(b"1", &*bytes_of(conn.receive(&mut soon()).unwrap()));
    assert!(conn.receive(&mut soon()).unwrap_err().is_truncated());
    let folder = crate::ends::Folder::new();
    for (text, count, state) in [("1\n12", 2, "eof_clean"), ("1\n[1,", 1, "eof_truncated")] {
        std::fs::write(folder.path("lines"), text).unwrap();
        let url = folder.url("file", "lines");
        let conn = Connection::open(&url, Mode::Read, &lines, &mut soon()).unwrap();
        assert_eq!(count, conn.receive_all(9, &mut soon()).unwrap().len());
        assert_eq!(state, conn.state().unwrap().name());
    }
}
