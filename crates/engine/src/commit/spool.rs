//! The spool: a file of the collection with the check-ins that cannot be sent because the frontier is away.
//!
//! A node appends each group of check-ins with one sync. When the frontier is back, the node sends the groups, the
//! oldest first. If the process is killed meanwhile, the next process sends the groups before any visit begins
//! ([`Spool::send_earlier`]). So an outage costs no recorded page, and the memory of waiting check-ins is bounded.
//!
//! ```text
//! file     "aranha check-ins 1\n", then records
//! record   length: u32, hash: u64 (xxh3), then the postcard encoding of an Entry; numbers are little-endian
//! group    Entry::Begin, Entry::CheckIn for each check-in, Entry::End
//! ```
//!
//! If a group has no end or a damaged record, a crash interrupted its writing, and the group is dropped. The file is
//! emptied when all groups are stored.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use aranha_frontier::{CheckIn, Frontier, FrontierError, Seed};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::unrecorded::Unrecorded;

const HEADER: &[u8] = b"aranha check-ins 1\n";
/// Maximum length of a record. A record that states a larger length is damaged.
const MAX_RECORD: usize = 1 << 30;

#[derive(Serialize, Deserialize)]
enum Entry<'a> {
    /// `node`: the node that holds the leases.
    Begin {
        node: u64,
        number: u64,
        seeds: Cow<'a, [Seed]>,
    },
    CheckIn(Box<CheckIn>),
    End,
}

/// A group of check-ins in the spool.
#[derive(Debug)]
pub(super) struct SpooledGroup {
    pub(super) number: u64,
    /// Seeds to add before the check-ins.
    pub(super) seeds: Vec<Seed>,
    pub(super) check_ins: Vec<CheckIn>,
}

/// Where a group is in the file.
#[derive(Clone, Copy, Debug)]
struct Position {
    offset: u64,
    node: u64,
    number: u64,
}

/// The open file. It is locked, so that no other process writes to it.
#[derive(Debug)]
pub(crate) struct Spool {
    file: File,
    path: PathBuf,
    length: u64,
    groups: VecDeque<Position>,
}

impl Drop for Spool {
    /// Releases the lock at once. A child process that is being started holds a copy of the descriptor, and would keep the
    /// lock until it runs its program.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

impl Spool {
    pub(crate) fn open(path: &Path) -> io::Result<Spool> {
        let file = File::options()
            .create(true)
            .read(true)
            .write(true)
            .truncate(false)
            .open(path)?;
        file.try_lock().map_err(io::Error::from)?;
        let mut spool = Spool {
            file,
            path: path.to_owned(),
            length: HEADER.len() as u64,
            groups: VecDeque::new(),
        };
        spool.scan()?;
        spool.file.set_len(spool.length)?;
        spool.file.sync_all()?;
        Ok(spool)
    }

    /// Finds the complete groups.
    fn scan(&mut self) -> io::Result<()> {
        let mut header = Vec::new();
        self.file.rewind()?;
        (&self.file)
            .take(HEADER.len() as u64)
            .read_to_end(&mut header)?;
        if header != HEADER {
            if HEADER.starts_with(&header) {
                // A new file.
                self.file.rewind()?;
                return self.file.write_all(HEADER);
            }
            let problem = "it is no spool of this version of aranha";
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        let mut reader = BufReader::new(&self.file);
        let (mut offset, mut begun) = (self.length, None);
        while let Some((entry, length)) = read_entry(&mut reader)? {
            if let Entry::Begin { node, number, .. } = entry {
                begun = Some(Position {
                    offset,
                    node,
                    number,
                });
            }
            offset += length;
            if matches!(entry, Entry::End) {
                self.groups.extend(begun.take());
                self.length = offset;
            }
        }
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The number of the newest group; 0 if there is none.
    fn last_number(&self) -> u64 {
        self.groups.back().map_or(0, |group| group.number)
    }

    /// Appends a group. The group is durable when this function returns.
    pub(super) fn append(
        &mut self,
        node: u64,
        number: u64,
        seeds: &[Seed],
        check_ins: impl Iterator<Item = CheckIn>,
    ) -> io::Result<()> {
        let offset = self.length;
        let written = self.write(node, number, seeds, check_ins);
        match written {
            Ok(end) => {
                self.length = end;
                self.groups.push_back(Position {
                    offset,
                    node,
                    number,
                });
                Ok(())
            }
            Err(error) => {
                self.file.set_len(offset)?;
                Err(error)
            }
        }
    }

    fn write(
        &mut self,
        node: u64,
        number: u64,
        seeds: &[Seed],
        check_ins: impl Iterator<Item = CheckIn>,
    ) -> io::Result<u64> {
        self.file.seek(SeekFrom::Start(self.length))?;
        let mut writer = BufWriter::new(&self.file);
        let mut end = self.length;
        let begin = Entry::Begin {
            node,
            number,
            seeds: Cow::Borrowed(seeds),
        };
        let entries = check_ins.map(|check_in| Entry::CheckIn(Box::new(check_in)));
        for entry in [begin].into_iter().chain(entries).chain([Entry::End]) {
            let bytes = postcard::to_stdvec(&entry).map_err(io::Error::other)?;
            writer.write_all(&(bytes.len() as u32).to_le_bytes())?;
            writer.write_all(&xxh3_64(&bytes).to_le_bytes())?;
            writer.write_all(&bytes)?;
            end += 12 + bytes.len() as u64;
        }
        writer.flush()?;
        drop(writer);
        self.file.sync_data()?;
        Ok(end)
    }

    /// Reads the oldest group.
    pub(super) fn first(&self) -> io::Result<Option<SpooledGroup>> {
        let Some(position) = self.groups.front() else {
            return Ok(None);
        };
        (&self.file).seek(SeekFrom::Start(position.offset))?;
        let mut reader = BufReader::new(&self.file);
        let mut group = SpooledGroup {
            number: position.number,
            seeds: Vec::new(),
            check_ins: Vec::new(),
        };
        loop {
            match read_entry(&mut reader)? {
                Some((Entry::Begin { seeds, .. }, _)) => group.seeds = seeds.into_owned(),
                Some((Entry::CheckIn(check_in), _)) => group.check_ins.push(*check_in),
                Some((Entry::End, _)) => return Ok(Some(group)),
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
    }

    /// Removes the oldest group from the spool, because the frontier has stored it.
    pub(super) fn remove_first(&mut self) -> io::Result<()> {
        self.groups.pop_front();
        if self.groups.is_empty() {
            self.length = HEADER.len() as u64;
            self.file.set_len(self.length)?;
            self.file.sync_data()?;
        }
        Ok(())
    }

    /// Sends the groups of an earlier process of this collection, and releases the sites that it had leased. Returns
    /// the number of the newest group.
    pub(crate) fn send_earlier(
        &mut self,
        frontier: &mut dyn Frontier,
        now: i64,
        unrecorded: &Unrecorded,
    ) -> Result<u64, SpoolError> {
        let Some(newest) = self.groups.back().copied() else {
            return Ok(0);
        };
        let at_file = |path: &Path| {
            let path = path.to_owned();
            move |source| SpoolError::File(path, source)
        };
        // Older groups may have another node number, if the process was declared dead and got a new number. The leases
        // of these groups are lost.
        let stored = frontier.take_over(now, newest.node)?;
        let (groups, last) = (self.groups.len(), self.last_number());
        while let Some(group) = self.first().map_err(at_file(&self.path))? {
            if group.number > stored {
                send(frontier, now, &group, unrecorded)?;
            }
            self.remove_first().map_err(at_file(&self.path))?;
        }
        frontier.release_all(now)?;
        tracing::info!(groups, "check-ins of an earlier process were sent");
        Ok(last.max(stored))
    }
}

/// Why the spool could not be sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SpoolError {
    #[error("{}: {}", .0.display(), .1)]
    File(PathBuf, io::Error),
    #[error(transparent)]
    Frontier(#[from] FrontierError),
}

/// Stores a group of an earlier process in the frontier.
fn send(
    frontier: &mut dyn Frontier,
    now: i64,
    group: &SpooledGroup,
    unrecorded: &Unrecorded,
) -> Result<(), SpoolError> {
    if !group.seeds.is_empty() {
        frontier.seed(now, &group.seeds)?;
    }
    let mut check_ins = group.check_ins.iter().cloned();
    let results = frontier.check_in_group(now, group.number, &mut check_ins)?;
    let results = results.iter().zip(&group.check_ins);
    let lost = results.filter_map(|(result, check_in)| result.is_err().then_some(check_in));
    unrecorded
        .add(lost)
        .map_err(|error| SpoolError::File(unrecorded.path().to_owned(), error))
}

/// Reads an entry. Returns it with its length in the file, or `None` at the end of the file or where the file is
/// damaged.
fn read_entry(reader: &mut impl io::Read) -> io::Result<Option<(Entry<'static>, u64)>> {
    let mut head = [0; 12];
    match reader.read_exact(&mut head) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let (length, hash) = head.split_at(4);
    let length = u32::from_le_bytes(length.try_into().unwrap_or_default()) as usize;
    let hash = u64::from_le_bytes(hash.try_into().unwrap_or_default());
    if length > MAX_RECORD {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    reader.take(length as u64).read_to_end(&mut bytes)?;
    if bytes.len() < length || xxh3_64(&bytes) != hash {
        return Ok(None);
    }
    let entry = postcard::from_bytes(&bytes).ok();
    Ok(entry.map(|entry| (entry, 12 + length as u64)))
}

#[cfg(test)]
mod tests {
    use aranha_frontier::{Then, WindowUpdate};

    use super::*;

    fn check_in(lease: u64) -> CheckIn {
        CheckIn {
            lease,
            done: Vec::new(),
            window: WindowUpdate::default(),
            later: Vec::new(),
            claims: Vec::new(),
            overflow: Vec::new(),
            keys: Vec::new(),
            outside: Vec::new(),
            facts: None,
            then: Then::Keep { want: 3 },
        }
    }

    fn append(spool: &mut Spool, number: u64) {
        let check_ins = (0..3).map(|lease| check_in(10 * number + lease));
        spool.append(7, number, &[], check_ins).unwrap();
    }

    fn numbers(spool: &mut Spool) -> Vec<u64> {
        let mut numbers = Vec::new();
        while let Some(group) = spool.first().unwrap() {
            let leases: Vec<u64> = group.check_ins.iter().map(|entry| entry.lease).collect();
            let first = 10 * group.number;
            assert_eq!(leases, [first, first + 1, first + 2]);
            assert_eq!(group.check_ins[0], check_in(first));
            numbers.push(group.number);
            spool.remove_first().unwrap();
        }
        numbers
    }

    #[test]
    fn groups_are_read_in_order_and_only_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spool");
        let mut spool = Spool::open(&path).unwrap();
        assert!(spool.is_empty());
        append(&mut spool, 1);
        append(&mut spool, 2);
        drop(spool);
        let mut spool = Spool::open(&path).unwrap();
        append(&mut spool, 3);
        assert_eq!(numbers(&mut spool), [1, 2, 3]);
        append(&mut spool, 4);
        drop(spool);
        assert_eq!(numbers(&mut Spool::open(&path).unwrap()), [4]);
    }

    /// A crash or a full disk may cut the file anywhere. The groups before the cut are complete.
    #[test]
    fn a_cut_or_damaged_group_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spool");
        let mut spool = Spool::open(&path).unwrap();
        append(&mut spool, 1);
        let one = spool.length as usize;
        append(&mut spool, 2);
        drop(spool);
        let whole = std::fs::read(&path).unwrap();
        for end in 0..=whole.len() {
            std::fs::write(&path, &whole[..end]).unwrap();
            let mut spool = Spool::open(&path).unwrap();
            let expected: &[u64] = match end {
                _ if end == whole.len() => &[1, 2],
                _ if end >= one => &[1],
                _ => &[],
            };
            assert_eq!(numbers(&mut spool), expected, "cut at {end}");
        }
        for at in one..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            std::fs::write(&path, &damaged).unwrap();
            assert_eq!(numbers(&mut Spool::open(&path).unwrap()), [1], "byte {at}");
        }
        std::fs::write(&path, b"something else entirely").unwrap();
        Spool::open(&path).expect_err("no spool");
    }

    #[test]
    fn another_process_cannot_open_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spool");
        let _spool = Spool::open(&path).unwrap();
        Spool::open(&path).expect_err("locked");
    }
}
