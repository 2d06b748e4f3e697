//! Real servers on loopback, each of a test's own: started in a temporary folder, stopped by its number.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each test file uses some of it, and a test stops at once"
)]

use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::folder::Folder;
use super::{skip, unavailable};

/// How long a server may take to be ready; a busy machine takes its time.
const READY: Duration = Duration::from_secs(60);

/// A port of 127.0.0.1 that nobody listens at.
///
/// It lies below those that systems give to connections, and another process of tests begins elsewhere, so that nobody
/// takes it before the server does.
pub fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = std::process::id()
            .wrapping_mul(20)
            .wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = 20_000 + u16::try_from(number % 12_000).unwrap();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// The program of this name on the path.
fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&path).map(|folder| folder.join(name));
    places.find(|place| place.is_file())
}

/// Waits until a server answers; one that ends before that fails at once, with its log.
fn wait_until(what: &str, log: &Path, running: &mut Running, mut ready: impl FnMut() -> bool) {
    let began = Instant::now();
    while !ready() {
        let ended = running.child.try_wait().unwrap();
        assert!(
            ended.is_none() && began.elapsed() < READY,
            "{what} does not start ({ended:?}):\n{}",
            std::fs::read_to_string(log).unwrap_or_default()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What a server answers to one request over a connection of its own.
fn answer(port: u16, request: &[u8]) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(2))).ok()?;
    stream.write_all(request).ok()?;
    let mut said = [0; 64];
    let size = stream.read(&mut said).ok()?;
    Some(String::from_utf8_lossy(said.get(..size)?).into_owned())
}

/// A server process that ends with the test.
struct Running {
    child: Child,
}

impl Running {
    fn start(command: &mut Command, log: &Path) -> Self {
        let log = File::create(log).unwrap();
        command.stdin(Stdio::null());
        command.stdout(log.try_clone().unwrap()).stderr(log);
        let child = command.spawn().unwrap();
        Self { child }
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A Redis server.
pub struct Redis {
    running: Option<Running>,
    pub port: u16,
    folder: Folder,
    options: Vec<String>,
}

impl Redis {
    /// Starts one with further options, as `["--appendonly", "yes"]`; None if it is not installed.
    pub fn start(options: &[&str]) -> Option<Self> {
        if on_path("redis-server").is_none() {
            skip("redis-server is not installed: apt-get install redis-server");
            return None;
        }
        let mut server = Self {
            running: None,
            port: free_port(),
            folder: Folder::new(),
            options: options.iter().map(ToString::to_string).collect(),
        };
        server.again();
        Some(server)
    }

    /// Starts it again where it was.
    pub fn again(&mut self) {
        let log = self.folder.join("redis.log");
        let mut command = Command::new("redis-server");
        command.args(["--bind", "127.0.0.1", "--port", &self.port.to_string()]);
        command.arg("--dir").arg(self.folder.path());
        command.arg("--unixsocket").arg(self.socket());
        command.args([
            "--save",
            "",
            "--daemonize",
            "no",
            "--enable-debug-command",
            "yes",
        ]);
        if !self.options.iter().any(|option| option == "--appendonly") {
            command.args(["--appendonly", "no"]);
        }
        command.args(&self.options);
        let mut running = Running::start(&mut command, &log);
        wait_until("redis-server", &log, &mut running, || {
            let said = answer(self.port, b"PING\r\n");
            said.is_some_and(|said| said.starts_with("+PONG") || said.starts_with("-NOAUTH"))
        });
        self.running = Some(running);
    }

    /// Ends it at once, as a power failure of the process would.
    pub fn kill(&mut self) {
        self.running = None;
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.join("redis.sock")
    }

    /// What it answers to a command line.
    pub fn command(&self, line: &str) -> String {
        answer(self.port, format!("{line}\r\n").as_bytes()).unwrap()
    }

    pub fn url(&self, prefix: &str) -> url::Url {
        let text = format!("redis://127.0.0.1:{}/0?prefix={prefix}", self.port);
        text.parse().unwrap()
    }
}

/// A `PostgreSQL` server.
pub struct Postgres {
    running: Option<Running>,
    pub port: u16,
    folder: Folder,
    programs: PathBuf,
    options: Vec<String>,
}

/// The folder of the newest `PostgreSQL` server's programs; Debian keeps them off the path.
fn postgres_programs() -> Option<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.join("bin/initdb").is_file())
        .filter_map(|path| {
            let major = path.file_name()?.to_str()?.parse().ok()?;
            Some((major, path.join("bin")))
        })
        .collect();
    found.sort();
    let newest = found.pop().map(|(_, path)| path);
    newest.or_else(|| on_path("initdb")?.parent().map(Path::to_path_buf))
}

/// The number of the user whom Debian's package makes; the server will not run as root.
fn postgres_user() -> Option<(u32, u32)> {
    let mut ids = Command::new("id");
    let own = ids.arg("-u").output().ok()?;
    if String::from_utf8_lossy(&own.stdout).trim() != "0" {
        return None;
    }
    let number = |flag: &str| {
        let output = Command::new("id").args([flag, "postgres"]).output().ok()?;
        String::from_utf8_lossy(&output.stdout).trim().parse().ok()
    };
    Some((number("-u")?, number("-g")?))
}

impl Postgres {
    /// Starts one with settings, as `["fsync=on"]`; None if it is not installed.
    pub fn start(settings: &[&str]) -> Option<Self> {
        let Some(programs) = postgres_programs() else {
            skip("PostgreSQL is not installed: apt-get install postgresql");
            return None;
        };
        let mut server = Self {
            running: None,
            port: free_port(),
            folder: Folder::new(),
            programs,
            options: settings.iter().map(ToString::to_string).collect(),
        };
        if let Some((user, group)) = postgres_user() {
            std::os::unix::fs::chown(server.folder.path(), Some(user), Some(group)).unwrap();
        }
        let mut initdb = server.program("initdb");
        initdb.arg("-D").arg(server.folder.join("data"));
        initdb.args([
            "-U",
            "tare",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--no-locale",
            "--no-sync",
        ]);
        let output = initdb.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "initdb fails: {said}");
        server.again();
        Some(server)
    }

    /// One of its programs, as the user that may run it.
    pub fn program(&self, name: &str) -> Command {
        use std::os::unix::process::CommandExt as _;
        let mut command = Command::new(self.programs.join(name));
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        if let Some((user, group)) = postgres_user() {
            command.uid(user).gid(group);
        }
        command
    }

    /// Starts it again where it was.
    pub fn again(&mut self) {
        let log = self.folder.join("postgres.log");
        let mut command = self.program("postgres");
        command.arg("-D").arg(self.folder.join("data"));
        command.arg("-k").arg(self.folder.path());
        command.args([
            "-c",
            "listen_addresses=127.0.0.1",
            "-p",
            &self.port.to_string(),
        ]);
        for option in &self.options {
            command.args(["-c", option]);
        }
        let mut running = Running::start(&mut command, &log);
        wait_until("postgres", &log, &mut running, || {
            self.query("SELECT 1").is_ok()
        });
        self.running = Some(running);
    }

    /// Ends it at once with `kill -9`, and waits until its children have noticed.
    pub fn kill(&mut self) {
        self.running = None;
        let pid = self.folder.join("data/postmaster.pid");
        let _ = std::fs::remove_file(pid);
        // Its children end when they find their parent gone; a new server needs their shared memory free.
        std::thread::sleep(Duration::from_millis(500));
    }

    /// Stops it in an orderly way.
    pub fn stop(&mut self) {
        let mut command = self.program("pg_ctl");
        command.arg("-D").arg(self.folder.join("data"));
        let _ = command.args(["-m", "fast", "-w", "stop"]).output();
        self.running = None;
    }

    /// What psql prints, unaligned.
    pub fn query(&self, sql: &str) -> Result<String, String> {
        let mut command = self.program("psql");
        command.args(["-h", "127.0.0.1", "-p", &self.port.to_string()]);
        command.args([
            "-U",
            "tare",
            "-d",
            "postgres",
            "-v",
            "ON_ERROR_STOP=1",
            "-qAtc",
            sql,
        ]);
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_string();
        if output.status.success() {
            Ok(text(&output.stdout))
        } else {
            Err(text(&output.stderr))
        }
    }

    pub fn socket_folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn url(&self, schema: &str) -> url::Url {
        let text = format!(
            "postgres://tare@127.0.0.1:{}/postgres?schema={schema}",
            self.port
        );
        text.parse().unwrap()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if self.running.is_some() {
            let mut command = self.program("pg_ctl");
            command.arg("-D").arg(self.folder.join("data"));
            let _ = command.args(["-m", "immediate", "-w", "stop"]).output();
        }
    }
}

/// A server that speaks S3's language.
pub struct S3 {
    running: Option<Running>,
    pub port: u16,
    folder: Folder,
    /// Which of them it is.
    pub name: &'static str,
}

/// Where moto's server is: named, in the repository's environment, or on the path.
fn moto() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("TARE_MOTO_SERVER") {
        return Some(PathBuf::from(named)).filter(|path| path.is_file());
    }
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join(".venv/bin/moto_server");
    let own = own.is_file().then_some(own);
    own.or_else(|| on_path("moto_server"))
}

impl S3 {
    /// The access key and the secret that a test's client uses.
    pub const KEYS: (&'static str, &'static str) = ("test", "testtest");

    /// Starts moto's server; None if it is not installed.
    pub fn moto() -> Option<Self> {
        let Some(program) = moto() else {
            skip("moto_server is not installed: pip install 'moto[server]', or name it in TARE_MOTO_SERVER");
            return None;
        };
        let (port, folder) = (free_port(), Folder::new());
        let mut command = Command::new(program);
        command.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
        command.current_dir(folder.path());
        Some(Self::started("moto", &mut command, port, folder))
    }

    /// Starts versitygw over a folder; None if it is not on the path, which is no failure.
    pub fn versitygw() -> Option<Self> {
        let Some(program) = on_path("versitygw") else {
            unavailable("versitygw is not on the path");
            return None;
        };
        let (port, folder) = (free_port(), Folder::new());
        std::fs::create_dir(folder.join("s3")).unwrap();
        let mut command = Command::new(program);
        command.env("ROOT_ACCESS_KEY", Self::KEYS.0);
        command.env("ROOT_SECRET_KEY", Self::KEYS.1);
        command.args(["--quiet", "--port", &format!("127.0.0.1:{port}"), "posix"]);
        command.arg(folder.join("s3"));
        Some(Self::started("versitygw", &mut command, port, folder))
    }

    fn started(name: &'static str, command: &mut Command, port: u16, folder: Folder) -> Self {
        let log = folder.join("s3.log");
        let mut running = Running::start(command, &log);
        wait_until(name, &log, &mut running, || {
            answer(port, b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n").is_some()
        });
        Self {
            running: Some(running),
            port,
            folder,
            name,
        }
    }

    /// Makes a bucket: a folder, or what moto lets anybody do.
    pub fn make_bucket(&self, name: &str) {
        if self.name == "versitygw" {
            std::fs::create_dir(self.folder.join("s3").join(name)).unwrap();
            return;
        }
        let request =
            format!("PUT /{name} HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n");
        let said = answer(self.port, request.as_bytes()).unwrap();
        assert!(said.contains("200"), "{said}");
    }

    /// The listing of a bucket, as moto gives it to anybody; of another server nothing.
    pub fn list(&self, bucket: &str) -> String {
        if self.name == "versitygw" {
            return String::new();
        }
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let request = format!("GET /{bucket}?list-type=2 HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        said
    }

    /// Where clients find it.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}
