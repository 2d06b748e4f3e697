//! Regular files of messages.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::path::Path;

use super::super::wire::os_error;
use super::super::{Control, Event, Framer, Mode, Options, State};
use super::{wrong_mode, Opened};
use crate::{Error, ErrorKind, Result};

/// Opens a file to read, to write anew, or to add to.
pub fn open(path: &Path, mode: Mode, options: &Options) -> Result<Opened> {
    let mut how = OpenOptions::new();
    match mode {
        Mode::Read => how.read(true),
        Mode::Write => how.write(true).create(true).truncate(true),
        Mode::Append => how.read(true).append(true).create(true),
        Mode::Both => return Err(wrong_mode("file:", "r, w or a")),
    };
    let file = how.open(path).map_err(|error| cannot(error, path))?;
    let since_end = if mode == Mode::Append {
        check_tail(&file, path, options)?
    } else {
        0
    };
    let opened = Opened::new(file.into(), mode);
    Ok(Opened {
        since_end,
        ..opened
    })
}

fn cannot(error: std::io::Error, path: &Path) -> Error {
    os_error(error, &format!("cannot open {}", path.display()))
}

/// Reads what a file holds: it must end with a whole message. Gives the messages since its last
/// END, which the next END counts too.
fn check_tail(file: &File, path: &Path, options: &Options) -> Result<u64> {
    let mut framer = Framer::new(options.framing, options.limits);
    let mut since_end = 0_u64;
    let mut reader = file;
    loop {
        while let Some(event) = framer.next_event().map_err(|error| error.with_path(path))? {
            match event {
                Event::Message(_) => since_end = since_end.saturating_add(1),
                Event::Control(Control::End { .. }) => since_end = 0,
                Event::Control(_) => {}
            }
        }
        let room = framer.reserve();
        let read = match reader.read(room) {
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(cannot(error, path)),
        };
        if read == 0 {
            break;
        }
        framer.commit(read);
    }
    framer.end();
    match framer.state() {
        State::EofTruncated { offset } if options.repair => {
            file.set_len(offset).map_err(|error| cannot(error, path))?;
            Ok(since_end)
        }
        State::EofTruncated { offset } => {
            let text = "its last message is cut: open it with repair=True to cut it off, or write another file";
            Err(Error::new(ErrorKind::Truncated, text)
                .with_format(options.framing.name())
                .with_offset(offset)
                .with_path(path))
        }
        _ => Ok(since_end),
    }
}
