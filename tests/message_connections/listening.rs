//! Listeners: tokens, strangers, and how many may come.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use tare::message::{is_timeout, Connection, Listener, Mode, Options, Token};
use tare::ErrorKind;

use crate::ends::{bytes_of, ms, soon};

fn with_token(token: &[u8]) -> Options {
    Options {
        token: Some(Token::new(token).unwrap()),
        hello: Some("raw".into()),
        ..Options::listening()
    }
}

fn open(listener: &Listener, options: &Options) -> Connection {
    Connection::open(listener.url(), Mode::Both, options, &mut soon()).unwrap()
}

fn host(listener: &Listener) -> String {
    listener.url().strip_prefix("tcp://").unwrap().to_owned()
}

#[test]
fn only_the_right_token_comes_in() {
    let token = b"0123456789abcdef";
    let listener = Listener::open("tcp://:0", &with_token(token)).unwrap();
    for other in [&b"0123456789abcdeX"[..], b"0123456789abcdef0"] {
        let wrong = open(&listener, &with_token(other));
        assert!(is_timeout(&listener.accept(&mut ms(60)).unwrap_err()));
        // Closed without a word.
        assert!(matches!(wrong.receive(&mut soon()), Ok(None) | Err(_)));
        assert_eq!(0, wrong.tell().0);
    }
    let none = open(&listener, &Options::default());
    none.send(token, false, &mut soon()).unwrap();
    assert!(!listener.poll(&mut ms(60)).unwrap());
    assert!(matches!(none.receive(&mut soon()), Ok(None) | Err(_)));

    let mut http = TcpStream::connect(host(&listener)).unwrap();
    http.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert!(!listener.poll(&mut ms(60)).unwrap());
    let mut said = Vec::new();
    let _ = http.read_to_end(&mut said);
    assert!(said.is_empty());

    let right = open(&listener, &with_token(token));
    let (server, _) = listener.accept(&mut soon()).unwrap();
    right.send(b"hi", false, &mut soon()).unwrap();
    assert_eq!(b"hi", &*bytes_of(server.receive(&mut soon()).unwrap()));
    assert_eq!(Some("raw"), server.peer_codec().as_deref());
    assert_eq!(1, listener.connections());
}

#[test]
fn a_silent_stranger_keeps_nobody_waiting() {
    let token = b"0123456789abcdef";
    let listener = Listener::open("tcp://:0", &with_token(token)).unwrap();
    let mut silent = TcpStream::connect(host(&listener)).unwrap();
    let mut half = TcpStream::connect(host(&listener)).unwrap();
    half.write_all(b"\xe8\x11\0\0\0\x03").unwrap();
    let mut greedy = TcpStream::connect(host(&listener)).unwrap();
    greedy.write_all(b"\xe0\0\0\0\x02").unwrap();
    let right = open(&listener, &with_token(token));
    listener.accept(&mut soon()).unwrap();
    drop(right);
    // The greedy one is out, the others have some time left.
    silent
        .set_read_timeout(Some(Duration::from_millis(5)))
        .unwrap();
    assert!(silent.read(&mut [0]).is_err());
    greedy
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    assert!(matches!(greedy.read(&mut [0]), Ok(0) | Err(_)));
    half.write_all(token).unwrap();
    listener.accept(&mut soon()).unwrap();
}

#[test]
fn a_stranger_has_no_time_without_end() {
    let options = Options {
        message_timeout: Some(Duration::from_millis(80)),
        ..with_token(b"0123456789abcdef")
    };
    let listener = Listener::open("tcp://:0", &options).unwrap();
    let mut silent = TcpStream::connect(host(&listener)).unwrap();
    assert!(is_timeout(&listener.accept(&mut ms(250)).unwrap_err()));
    silent
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    assert!(matches!(silent.read(&mut [0]), Ok(0) | Err(_)));
    assert_eq!(0, listener.connections());
}

#[test]
fn tokens_are_not_shown_and_not_sent_in_the_clear() {
    let options = with_token(b"a secret of mine");
    assert!(!format!("{options:?}").contains("secret"));
    assert_eq!(ErrorKind::Usage, Token::new(*b"short").unwrap_err().kind());
    for url in ["tcp://0.0.0.0:0", "tcp://[::]:0"] {
        let error = Listener::open(url, &options).unwrap_err();
        assert_eq!(ErrorKind::Unsupported, error.kind(), "{url}: {error}");
        assert!(!error.to_string().contains("secret"));
    }
    let error =
        Connection::open("tcp://192.0.2.1:9", Mode::Both, &options, &mut ms(1)).unwrap_err();
    assert_eq!(ErrorKind::Unsupported, error.kind());
    let error = Listener::open("fifo:/tmp/none", &options).unwrap_err();
    assert_eq!(ErrorKind::Usage, error.kind());
}

#[test]
fn no_more_than_so_many_at_once() {
    let two = Options {
        max_connections: 2,
        ..Options::listening()
    };
    let listener = Listener::open("tcp://:0", &two).unwrap();
    let clients: Vec<_> = (0..3)
        .map(|_| open(&listener, &Options::default()))
        .collect();
    let (first, _) = listener.accept(&mut soon()).unwrap();
    let (second, _) = listener.accept(&mut soon()).unwrap();
    assert!(is_timeout(&listener.accept(&mut ms(60)).unwrap_err()));
    assert!(!listener.poll(&mut ms(0)).unwrap());
    first.close(&mut soon()).unwrap();
    let (third, _) = listener.accept(&mut soon()).unwrap();
    clients[2].send(b"third", false, &mut soon()).unwrap();
    assert_eq!(b"third", &*bytes_of(third.receive(&mut soon()).unwrap()));
    drop((second, third));
    assert_eq!(0, listener.connections());
}

#[test]
fn what_is_accepted_has_a_time_for_messages() {
    let listener = Listener::open("tcp://:0", &Options::listening()).unwrap();
    let _client = open(&listener, &Options::default());
    let (server, _) = listener.accept(&mut soon()).unwrap();
    assert_eq!(
        Some(Duration::from_secs(30)),
        server.options().message_timeout
    );
    listener.close();
    assert_eq!(
        ErrorKind::Usage,
        listener.accept(&mut soon()).unwrap_err().kind()
    );
    assert_eq!(ErrorKind::Usage, listener.fileno().unwrap_err().kind());
}
