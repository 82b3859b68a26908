//! Writes lines of JSON in the background.
//!
//! 1. A request makes its line, puts it into a bounded queue and goes on. When the queue is full, by the number of its lines
//!    or by their [bytes](WAITING), the line is dropped and counted.
//! 2. A thread takes everything that waits and writes it, then rests for [`REST`]. Waking it for each line, and a system
//!    call for each, would cost a request more than the rest of its log; the first line after a pause is written at once.
//! 3. It writes whole lines, at most [`AT_ONCE`] bytes of them with one call, which even a pipe takes whole or not at all: a
//!    process that is killed leaves no half line.
//! 4. A line that the output does not take is dropped and counted, too. After lines were dropped, a line reports how many.
//! 5. Dropping the [`Guard`] writes what still waits.

use std::io::{self, ErrorKind, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use slog::{Drain, Level, OwnedKVList, Record, o};

use super::json;
use crate::tally::Count;

/// Lines that may wait: a tenth of a second's worth at a hundred thousand requests a second, some megabytes.
const QUEUE: usize = 10_000;

/// Bytes of the lines that may wait. Lines are some 300 bytes, so this is for long ones: their number alone would not bound
/// memory.
const WAITING: usize = 8 * 1024 * 1024;

/// How long a line may wait to be written together with others.
const REST: Duration = Duration::from_millis(10);

/// Bytes that are written with one call, except for a longer line: `PIPE_BUF` of Linux.
const AT_ONCE: usize = 4096;

/// A drain that writes lines of JSON in the background.
pub(super) struct Lines {
    queue: SyncSender<Message>,
    counts: Arc<Counts>,
}

/// How many lines this process has dropped.
static DROPPED: Count = Count::none();

/// How many lines of JSON were dropped since this process started, because they were not read fast enough or the output failed.
pub fn dropped_lines() -> u64 {
    DROPPED.get()
}

/// Counts shared by both sides of the queue.
#[derive(Default)]
struct Counts {
    dropped: AtomicU64,
    /// The bytes of the lines in the queue.
    waiting: AtomicUsize,
}

/// Ends the thread once it has written what waits.
pub(super) struct Guard {
    queue: SyncSender<Message>,
    thread: Option<JoinHandle<()>>,
}

enum Message {
    Line(Vec<u8>),
    End,
}

/// A drain that writes to `output`.
///
/// # Errors
/// When the system cannot create a thread.
pub(super) fn in_background(output: impl Write + Send + 'static) -> io::Result<(Lines, Guard)> {
    let (queue, messages) = sync_channel(QUEUE);
    let counts = Arc::<Counts>::default();
    let lines = Lines {
        queue: queue.clone(),
        counts: Arc::clone(&counts),
    };
    let thread = Builder::new()
        .name("log".into())
        .spawn(move || write(&messages, &counts, output))?;
    let guard = Guard {
        queue,
        thread: Some(thread),
    };
    Ok((lines, guard))
}

impl Drain for Lines {
    type Ok = ();
    type Err = slog::Never;

    /// Step 1.
    fn log(&self, record: &Record<'_>, values: &OwnedKVList) -> Result<(), slog::Never> {
        let line = json::line(record, values);
        let (counts, bytes) = (&self.counts, line.capacity());
        let waiting = counts.waiting.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if waiting > WAITING || self.queue.try_send(Message::Line(line)).is_err() {
            counts.waiting.fetch_sub(bytes, Ordering::Relaxed);
            counts.dropped.fetch_add(1, Ordering::Relaxed);
            DROPPED.one();
        }
        Ok(())
    }
}

/// Step 5.
impl Drop for Guard {
    fn drop(&mut self) {
        // Either fails only if the thread has panicked, and then there is nowhere to report it.
        let _ = self.queue.send(Message::End);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Steps 2 to 4, until the end.
fn write(messages: &Receiver<Message>, counts: &Counts, mut output: impl Write) {
    let mut write = |text: &mut Vec<u8>| {
        let lost = write_whole(&mut output, text);
        text.clear();
        counts.dropped.fetch_add(lost, Ordering::Relaxed);
        lost
    };
    let mut text = Vec::with_capacity(AT_ONCE);
    let mut ended = false;
    while !ended {
        // There are senders as long as there is a guard.
        let Ok(first) = messages.recv() else { return };
        let waiting = messages.try_iter().take(QUEUE);
        for message in std::iter::once(first).chain(waiting) {
            match message {
                Message::Line(line) => {
                    if text.len() + line.len() > AT_ONCE {
                        DROPPED.add(write(&mut text));
                    }
                    counts.waiting.fetch_sub(line.capacity(), Ordering::Relaxed);
                    text.extend(line);
                }
                Message::End => ended = true,
            }
        }
        DROPPED.add(write(&mut text));
        let dropped = counts.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 && write(&mut told(dropped)) > 0 {
            // The next such line reports them.
            counts.dropped.store(dropped, Ordering::Relaxed);
        }
        if !ended {
            std::thread::sleep(REST);
        }
    }
}

/// Writes lines, and returns how many of them the output did not take. Waits for an output that is not ready, such as a pipe
/// that does not block.
fn write_whole(output: &mut impl Write, lines: &[u8]) -> u64 {
    let mut rest = lines;
    while !rest.is_empty() {
        match output.write(rest) {
            Ok(0) => break,
            Ok(count) => rest = &rest[count..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(REST),
            Err(_) => break,
        }
    }
    rest.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// Step 4.
fn told(count: u64) -> Vec<u8> {
    let message = format_args!("lines of the log were dropped, since nobody read them fast enough");
    let values = slog::b!("count" => count);
    let record = slog::record!(Level::Warning, "log", &message, values);
    json::line(&record, &o!().into())
}

#[cfg(test)]
mod tests {
    use std::sync::{Condvar, Mutex};

    use serde_json::Value;
    use slog::{Logger, info};

    use super::*;

    /// The output; it accepts nothing while it is shut.
    #[derive(Clone, Default)]
    struct Reader(Arc<(Mutex<Read>, Condvar)>);

    #[derive(Default)]
    struct Read {
        shut: bool,
        calls: Vec<Vec<u8>>,
    }

    impl Write for Reader {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let (read, opened) = &*self.0;
            let open = opened.wait_while(read.lock().unwrap(), |read| read.shut);
            open.unwrap().calls.push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Reader {
        fn shut(&self, shut: bool) {
            self.0.0.lock().unwrap().shut = shut;
            self.0.1.notify_all();
        }

        /// Each call must have written whole lines.
        fn lines(&self) -> Vec<Value> {
            let read = self.0.0.lock().unwrap();
            let mut lines = Vec::new();
            for call in &read.calls {
                assert_eq!(call.last(), Some(&b'\n'));
                assert!(call.len() <= AT_ONCE, "{} bytes", call.len());
                let texts = call
                    .split(|&byte| byte == b'\n')
                    .filter(|it| !it.is_empty());
                lines.extend(texts.map(|text| serde_json::from_slice::<Value>(text).unwrap()));
            }
            lines
        }
    }

    #[test]
    fn every_line_is_written_whole_and_in_the_order_of_its_thread() {
        let reader = Reader::default();
        let (lines, guard) = in_background(reader.clone()).unwrap();
        let log = Logger::root(lines, o!());
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let log = log.new(o!("thread" => thread));
                scope.spawn(move || (0..500_u64).for_each(|n| info!(log, "line"; "n" => n)));
            }
        });
        drop(guard);
        let lines = reader.lines();
        assert_eq!(lines.len(), 2_000);
        for thread in 0..4 {
            let of_thread = lines.iter().filter(|line| line["thread"] == thread);
            assert!(
                of_thread
                    .map(|line| &line["n"])
                    .eq((0..500).map(Value::from).collect::<Vec<_>>().iter())
            );
        }
    }

    #[test]
    fn lines_that_nobody_reads_are_dropped_and_counted() {
        let reader = Reader::default();
        reader.shut(true);
        let (lines, guard) = in_background(reader.clone()).unwrap();
        let log = Logger::root(lines, o!());
        let all = 3 * QUEUE as u64;
        (0..all).for_each(|n| info!(log, "line"; "n" => n));
        reader.shut(false);
        drop(guard);
        let lines = reader.lines();
        let told: u64 = lines.iter().filter_map(|line| line["count"].as_u64()).sum();
        let written = lines.iter().filter(|line| line["msg"] == "line").count() as u64;
        assert!(told > 0);
        assert_eq!(written + told, all);
    }

    /// A pipe that does not block, and is full at every second try; and a full disk.
    struct Failing(u64, ErrorKind, Reader);

    impl Write for Failing {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += 1;
            match self.0 % 2 {
                1 => Err(self.1.into()),
                _ => self.2.write(bytes),
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_that_the_output_does_not_take_are_counted_and_a_full_pipe_is_waited_for() {
        for (kind, all_come) in [
            (ErrorKind::WouldBlock, true),
            (ErrorKind::StorageFull, false),
        ] {
            let reader = Reader::default();
            let output = Failing(0, kind, reader.clone());
            let (lines, guard) = in_background(output).unwrap();
            let counts = Arc::clone(&lines.counts);
            let log = Logger::root(lines, o!());
            (0..100_u64).for_each(|n| info!(log, "line"; "n" => n));
            drop(guard);
            let lines = reader.lines();
            let told: u64 = lines.iter().filter_map(|line| line["count"].as_u64()).sum();
            let written = lines.iter().filter(|line| line["msg"] == "line").count() as u64;
            let untold = counts.dropped.load(Ordering::Relaxed);
            assert_eq!(written + told + untold, 100, "{kind}");
            assert_eq!(written == 100, all_come, "{kind}");
        }
    }

    #[test]
    fn long_lines_that_nobody_reads_take_no_more_memory_than_short_ones() {
        let reader = Reader::default();
        reader.shut(true);
        let (lines, guard) = in_background(reader.clone()).unwrap();
        let counts = Arc::clone(&lines.counts);
        let log = Logger::root(lines, o!());
        let long = "x".repeat(AT_ONCE - 200);
        for _ in 0..QUEUE {
            info!(log, "line"; "long" => &*long);
            assert!(counts.waiting.load(Ordering::Relaxed) <= WAITING);
        }
        assert!(counts.dropped.load(Ordering::Relaxed) > QUEUE as u64 / 2);
        reader.shut(false);
        drop(guard);
        assert_eq!(counts.waiting.load(Ordering::Relaxed), 0);
        let lines = reader.lines();
        let told: u64 = lines.iter().filter_map(|line| line["count"].as_u64()).sum();
        let written = lines.iter().filter(|line| line["msg"] == "line").count() as u64;
        assert_eq!(written + told, QUEUE as u64);
    }
}
