"""Media with two ends: what is sent arrives, strangers are refused, nothing is left behind."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.capabilities import need_ipv6

from tare.errors import UsageError
from tare.measure.environment.link_check import check_link
from tare.media import Listener, fifo, link, medium, remote, tcp, unix
from tare.media.link import Link, RelayProcess
from tare.media.remote import Remote
from tare.messages.exact import show_token
from tare.messages.urls import host_and_port

TOKEN = bytes(range(16))
SHOWN = show_token(TOKEN)
LIMIT_S = 20.0
"""Longest wait of a test that is well; a hang fails after it."""
MODULES = (fifo, unix, tcp)
MESSAGE = bytes(range(256)) * 3


@pytest.fixture(autouse=True)
def _private_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


@pytest.fixture(params=MODULES, ids=lambda module: module.__name__.rsplit(".", 1)[1])
def module(request: pytest.FixtureRequest) -> ModuleType:
    """Every medium with two ends on one machine."""
    return request.param


@pytest.fixture
def listener(module: ModuleType) -> Iterator[Listener]:
    """A listener that knows the token."""
    made = module.listen(token=TOKEN)
    yield made
    made.close()


def raw_writer(module: ModuleType, address: str) -> io.RawIOBase:
    """A writing end that says nothing of itself."""
    return module.connect(address, timeout_s=LIMIT_S)


def read_all(end: io.RawIOBase) -> bytes:
    """Everything until the writer has closed."""
    got = bytearray()
    while piece := end.read(1000):
        got += piece
    return bytes(got)


def in_thread(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_a_message_arrives(module, listener):
    """What one end writes, the other reads, to its end."""
    writing = module.connect(listener.address, token=TOKEN, timeout_s=LIMIT_S)
    reading = listener.accept(timeout_s=LIMIT_S)
    assert len(MESSAGE) == writing.write(MESSAGE)
    writing.close()
    with reading:
        assert MESSAGE == read_all(reading)


def test_a_message_split_at_every_byte_arrives(module):
    """However the writer's calls fall, token included, the reader gets the same bytes."""
    message = SHOWN + b"[1, 2, 3]"
    for cut in range(1, len(message)):
        listener = module.listen(token=TOKEN)
        writing = raw_writer(module, listener.address)
        writing.write(message[:cut])

        def rest(writing=writing, cut=cut) -> None:
            for byte in message[cut:]:
                writing.write(bytes([byte]))
            writing.close()

        thread = in_thread(rest)
        with listener.accept(timeout_s=LIMIT_S) as reading:
            assert b"[1, 2, 3]" == read_all(reading), cut
        thread.join()
        listener.close()


@pytest.mark.parametrize(
    "said",
    [
        b"",
        SHOWN[:1],
        SHOWN[:-1],
        bytes(16),
        show_token(TOKEN[::-1]) + b"more",
        b"GET / HTTP/1.1\r\n\r\n",
        bytes.fromhex("e000000004") + bytes(1000),
        bytes.fromhex("e003000000") + b"abc",
    ],
    ids=["none", "one byte", "a byte short", "zeros", "wrong", "http", "a long message", "a message"],
)
def test_who_does_not_know_the_token_is_refused(module, listener, said):
    """A wrong, short or missing token lets nobody in, and what followed is not read."""
    with raw_writer(module, listener.address) as writing:
        writing.write(said) if said else None
    if module is fifo:
        with pytest.raises(ConnectionError, match="did not send the token"):
            listener.accept(timeout_s=LIMIT_S)
    else:
        with pytest.raises(TimeoutError, match=r"\(1 without the token or TLS were turned away\)"):
            listener.accept(timeout_s=0.2)


@pytest.mark.parametrize("module", [unix, tcp], ids=["unix", "tcp"])
def test_strangers_do_not_keep_the_writer_out(module, listener):
    """The writer is let in behind one who lies, one who left, one who is silent and one who stopped half-way."""
    strangers = [raw_writer(module, listener.address) for _ in range(4)]
    strangers[0].write(bytes(40))
    strangers[1].close()
    strangers[2].write(SHOWN[:7])
    writing = module.connect(listener.address, token=TOKEN, timeout_s=LIMIT_S)
    with listener.accept(timeout_s=LIMIT_S) as reading, writing:
        writing.write(MESSAGE)
        writing.finish()
        assert MESSAGE == read_all(reading)
    for stranger in strangers:
        stranger.close()


@pytest.mark.parametrize("module", [unix, tcp], ids=["unix", "tcp"])
def test_one_who_keeps_calling_does_not_hold_the_reader(module, listener):
    """However many connect without the token, waiting ends."""
    stop = threading.Event()

    def call() -> None:
        while not stop.is_set():
            try:
                raw_writer(module, listener.address).close()
            except OSError:
                return

    thread = in_thread(call)
    try:
        with pytest.raises(TimeoutError, match="turned away"):
            listener.accept(timeout_s=0.5)
    finally:
        stop.set()
        listener.close()
        thread.join()


def test_half_a_token_and_silence_times_out(module, listener):
    """A writer that stops within its token does not hold the reader for ever."""
    with raw_writer(module, listener.address) as writing:
        writing.write(SHOWN[:7])
        with pytest.raises(TimeoutError):
            listener.accept(timeout_s=0.05)


def test_nobody_comes(module, listener):
    """Waiting ends in a TimeoutError at the time given."""
    with pytest.raises(TimeoutError):
        listener.accept(timeout_s=0.05)


def test_a_reader_slower_than_its_writer_gets_everything(module, listener):
    """A message far longer than any buffer waits for the reader."""
    message = os.urandom(1 << 20) * 24
    done = threading.Event()

    def send() -> None:
        with module.connect(listener.address, token=TOKEN, timeout_s=LIMIT_S) as writing:
            view = memoryview(message)
            while view:
                view = view[writing.write(view) :]
        done.set()

    thread = in_thread(send)
    with listener.accept(timeout_s=LIMIT_S) as reading:
        got = bytearray(reading.read(10))
        assert not done.wait(0.02), "a writer without a limit would fill the memory"
        while piece := reading.read(1 << 16):
            got += piece
    thread.join()
    assert message == bytes(got)


@pytest.mark.parametrize("sent", [0, 1, 700])
def test_a_writer_that_dies_ends_the_message(module, listener, sent):
    """The reader gets what was written, then the end; it does not wait."""
    writer = (
        f"import os, {module.__name__} as medium\n"
        f"end = medium.connect({listener.address!r}, token={TOKEN!r})\n"
        f"end.write({MESSAGE[:sent]!r})\n"
        "os._exit(9)"
    )
    child = subprocess.Popen([sys.executable, "-c", writer])
    with listener.accept(timeout_s=LIMIT_S) as reading:
        assert MESSAGE[:sent] == read_all(reading)
    assert 9 == child.wait(LIMIT_S)


def test_a_reader_that_leaves_is_told_to_the_writer(module, listener):
    """Writing to nobody is an OSError, not a signal and not a wait."""
    writing = module.connect(listener.address, token=TOKEN, timeout_s=LIMIT_S)
    listener.accept(timeout_s=LIMIT_S).close()
    listener.close()
    with pytest.raises((BrokenPipeError, ConnectionError)):  # noqa: PT012 - the first write may still succeed
        for _ in range(100):
            writing.write(bytes(1 << 16))
    writing.close()


def test_nobody_listens_any_more(module):
    """Connecting after close is an OSError."""
    listener = module.listen(token=TOKEN)
    listener.close()
    with pytest.raises((FileNotFoundError, ConnectionRefusedError)):
        module.connect(listener.address, token=TOKEN, timeout_s=LIMIT_S)


@pytest.mark.parametrize("taken", [False, True], ids=["waiting", "accepted"])
def test_close_removes_what_was_made(module, taken):
    """No path and no folder stays; closing twice is well."""
    listener = module.listen(token=TOKEN)
    path = Path(listener.address)
    if taken:
        module.connect(listener.address, token=TOKEN, timeout_s=LIMIT_S).close()
        listener.accept(timeout_s=LIMIT_S).close()
    made = module is not tcp
    assert made == path.exists()
    listener.close()
    listener.close()
    assert not path.exists()
    assert not made or not path.parent.exists()


def test_a_private_folder_lets_nobody_in(module):
    """Folders of fifos and sockets are the user's alone."""
    if module is tcp:
        return
    listener = module.listen(token=TOKEN)
    assert 0o700 == stat.S_IMODE(os.stat(os.path.dirname(listener.address)).st_mode)
    listener.close()


@pytest.mark.parametrize("module", [fifo, unix], ids=["fifo", "unix"])
def test_a_path_that_is_there_is_not_taken(module, tmp_path):
    """A file of the user's is neither replaced nor removed."""
    path = tmp_path / "mine"
    path.write_text("mine")
    with pytest.raises(OSError, match=r"exists|in use"):
        module.listen(str(path), token=TOKEN)
    assert "mine" == path.read_text()


def test_a_socket_at_a_path_given_is_removed(tmp_path):
    """The socket file goes, the folder stays."""
    listener = unix.listen(str(tmp_path / "s"))
    listener.close()
    assert [] == list(tmp_path.iterdir())


def test_a_socket_path_that_is_too_long_says_so(tmp_path):
    """The system's bound of about 100 bytes is an OSError."""
    with pytest.raises(OSError, match="too long"):
        unix.listen(str(tmp_path / ("x" * 200)))


def test_a_fifo_is_accepted_once():
    """A second accept is an error of use, not a wait."""
    listener = fifo.listen(token=TOKEN)
    fifo.connect(listener.address, token=TOKEN).close()
    listener.accept(timeout_s=LIMIT_S).close()
    with pytest.raises(ValueError, match="accepted or closed already"):
        listener.accept(timeout_s=LIMIT_S)
    listener.close()


@pytest.mark.parametrize("module", [unix, tcp], ids=["unix", "tcp"])
def test_an_answer_comes_back(module, listener):
    """After finish() the reader sees the end, and can still answer."""
    writing = module.connect(listener.address, token=TOKEN, timeout_s=LIMIT_S)
    with listener.accept(timeout_s=LIMIT_S) as reading, writing:
        writing.write(b"question")
        writing.finish()
        assert b"question" == read_all(reading)
        reading.write(b"!")
        assert b"!" == writing.read(10)


# --- addresses ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("127.0.0.1:0", ("127.0.0.1", 0)),
        (":80", ("127.0.0.1", 80)),
        ("[::1]:65535", ("::1", 65535)),
        ("a.b:1", ("a.b", 1)),
    ],
)
def test_an_address_is_split(text, expected):
    """HOST:PORT; IPv6 in brackets; no host is this one."""
    assert expected == host_and_port(text)


@pytest.mark.parametrize(
    "text", ["", "80", "host", "host:", "host:65536", "host:-1", "host:1.0", "host:\u00b2", "h:" + "9" * 5000]
)
def test_no_address(text):
    """Anything else is refused in words, however odd its digits."""
    with pytest.raises(UsageError, match="expected tcp://HOST:PORT"):
        tcp.connect(text)
    if text:
        with pytest.raises(UsageError, match="expected tcp://HOST:PORT"):
            tcp.listen(text)


@given(st.text(max_size=30))
def test_any_text_is_an_address_or_refused(text):
    """No other error than the one announced."""
    try:
        host, port = host_and_port(f"tcp://{text}")
    except UsageError:
        return
    assert host
    assert 0 <= port <= 65535


def test_ipv6_where_the_machine_has_it():
    """Over ::1 the address has brackets, and comes back as it was."""
    need_ipv6()
    listener = tcp.listen("[::1]:0", token=TOKEN)
    assert "::1" == host_and_port(listener.address)[0]
    tcp.connect(listener.address, token=TOKEN, timeout_s=LIMIT_S).close()
    listener.accept(timeout_s=LIMIT_S).close()
    listener.close()


@pytest.mark.parametrize("token", [b"", TOKEN[:-1]])
def test_other_machines_need_a_token(token):
    """Listening on every address without a secret is refused."""
    with pytest.raises(UsageError, match="at least 16 bytes"):
        remote.listen(token=token)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "host",
        "http://host",
        "ssh://",
        "ssh://-oProxyCommand=x",
        "ssh://-l@host",
        "ssh://host:0",
        "ssh://host:99999",
        "ssh://host:x",
        "ssh://[::1",
    ],
)
def test_no_remote(url):
    """What is not ssh://host is refused, above all what ssh would take for an option."""
    with pytest.raises(UsageError, match="is not a remote"):
        Remote.parse(url)


@given(st.text(max_size=40) | st.text(max_size=30).map("ssh://".__add__))
def test_any_text_is_a_remote_or_refused(url):
    """No other error than the one announced, and never an option of ssh."""
    try:
        found = Remote.parse(url)
    except UsageError:
        return
    name = found.ssh("true")[-3]
    assert not name.startswith("-")


# --- the emulated link ----------------------------------------------------------

LINK_RECORD = {
    "asked", "method", "bytes_per_second", "round_trip_s", "rate_asked", "rate_measured", "rtt_asked_us",
    "rtt_p50_us", "rtt_p90_us", "mtu", "kernel",
}  # fmt: skip
RATES = st.floats(1, 1e15) | st.integers(1, 10**6).map(lambda n: n * 125.0)
ROUND_TRIPS = st.floats(0, 60) | st.integers(0, 10**6).map(lambda n: n / 1e6)


@given(RATES, ROUND_TRIPS)
def test_a_link_prints_as_it_is_read(rate, round_trip):
    """Parse then print is the identity, to the last digit and without exponents."""
    whole = Link(rate, round_trip)
    assert whole == Link.parse(str(whole))
    assert str(whole) == str(Link.parse(str(whole)))


@pytest.mark.parametrize(
    ("text", "rate", "round_trip"),
    [
        ("1Gbit,0.3ms", 125e6, 0.0003),
        ("12.5MB/s,20ms", 12.5e6, 0.02),
        ("100Mbit", 12.5e6, 0.0),
        ("100 mbps", None, None),
        ("8kbitps, 1 s", 1e3, 1.0),
        ("1gB,50us", 1e9, 5e-5),
    ],
)
def test_links_are_read(text, rate, round_trip):
    """Bits and bytes, any prefix, with and without a round trip; b alone is neither."""
    if rate is None:
        with pytest.raises(UsageError):
            Link.parse(text)
    else:
        assert Link(rate, round_trip) == Link.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "fast",
        "1Gbit,",
        "1Gbit,,",
        "0Gbit,1ms",
        "1Gbit,1h",
        "-1Gbit",
        "1e3Mbit",
        "nanbit",
        "1Gbit,2m",
        "9" * 400 + "Gbit",
        "1Gbit,61s",
        "1bit",
        "\u0661Gbit",
        "1Gbit,0.3ms,1",
    ],
)
def test_no_link(text):
    """Anything else is refused, with an example of what to write."""
    with pytest.raises(UsageError, match=r"1Gbit,0\.3ms"):
        Link.parse(text)


@given(st.text(max_size=30))
def test_any_text_is_a_link_or_refused(text):
    """No other error than the one announced."""
    try:
        found = Link.parse(text)
    except UsageError:
        return
    assert found.bytes_per_second >= 1


def test_bytes_pass_a_link_unchanged():
    """Through the relay's process, and through the one it is pointed at next."""
    fast = Link.parse("100MB/s,1ms")
    with closing(link.listen(token=TOKEN)) as first:
        relay = RelayProcess(first.address, fast)
        try:
            through(relay.address, first)
            with closing(link.listen(token=TOKEN)) as second:
                through(relay.retarget(second.address, fast), second)
        finally:
            relay.close()
    assert 0 == relay._process.returncode


def test_an_address_stays_good_while_others_are_asked_for():
    """Seats get ready two at a time: the first writer may connect after the second has its address."""
    fast = Link.parse("100MB/s,1ms")
    with closing(link.listen(token=TOKEN)) as first, closing(link.listen(token=TOKEN)) as second:
        relay = RelayProcess(first.address, fast)
        try:
            early, late = relay.retarget(first.address, fast), relay.retarget(second.address, fast)
            through(late, second)
            through(early, first)
        finally:
            relay.close()


def through(address: str, listener: Listener) -> None:
    """A message by an address that is not the listener's own."""
    with link.connect(address, token=TOKEN, timeout_s=LIMIT_S) as writing:
        writing.write(MESSAGE)
        writing.finish()
        with listener.accept(timeout_s=LIMIT_S) as reading:
            assert MESSAGE == read_all(reading)


def test_a_relay_that_cannot_start_is_an_error(capfd):
    """A target that is none ends the process; nothing of it stays."""
    with pytest.raises(OSError, match="without an address"):
        RelayProcess("nowhere", Link(1e6, 0.0))
    assert "is not IP:PORT" in capfd.readouterr().err


@pytest.mark.alone
@pytest.mark.parametrize("text", ["8MB/s,20ms", "200Mbit,2ms"])
def test_a_link_is_never_faster_than_asked(text):
    """What was reached is measured and told; other work may slow it, nothing makes it faster."""
    asked = Link.parse(text)
    found = check_link(asked)
    assert LINK_RECORD == set(found)
    assert found["rtt_p50_us"] <= found["rtt_p90_us"]
    assert text == found["asked"] or str(asked) == found["asked"]
    assert "relay" in found["method"]
    # The bucket lets 32 KiB pass ahead of their time, of what is poured in 0.3 s.
    ahead = 2 * (32 << 10) / (asked.bytes_per_second * 0.3)
    assert 0 < found["bytes_per_second"] <= asked.bytes_per_second * (1.05 + ahead)
    assert found["round_trip_s"] >= asked.round_trip_s * 0.95


def test_media_with_two_ends_are_these():
    """Every stream of the registry has listen and connect; media with one end say they have none."""
    for name in ("fifo", "unix", "tcp", "link", "remote"):
        assert {"listen", "connect"} <= set(dir(medium(name).stream()))
    with pytest.raises(UsageError, match="not a stream"):
        medium("file").stream()
    with pytest.raises(UsageError, match="did you mean fifo"):
        medium("fifi")
