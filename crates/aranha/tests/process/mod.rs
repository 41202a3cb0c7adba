//! Runs commands in the foreground and background, and checks the form of error messages.

#![allow(dead_code, reason = "every test file uses a part of this module")]

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::support::assert_status;

/// Time limit of a background process. Crawls of the labs in these tests take seconds.
pub(crate) const MAX_RUN_TIME: Duration = Duration::from_mins(1);

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> Output {
    command.output().expect("the command runs")
}

/// Requires an empty stdout and two lines on stderr: `error:` with a text that contains `sentence`, and `hint:`.
#[track_caller]
pub(crate) fn assert_error(output: &Output, status: i32, sentence: &str) {
    assert_status(output, status);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    let stderr = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<_> = stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{stderr}");
    let error = lines[0].strip_prefix("error: ").unwrap_or_default();
    assert!(error.contains(sentence), "no `{sentence}` in: {stderr}");
    let hint = lines[1].strip_prefix("hint: ").unwrap_or_default();
    assert!(!hint.is_empty(), "no hint in: {stderr}");
}

/// A command in the background. Dropping it kills its process group.
pub(crate) struct BackgroundProcess(pub(crate) Child);

impl BackgroundProcess {
    pub(crate) fn start(mut command: Command) -> Self {
        command
            .process_group(0)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Self(command.spawn().expect("the command starts"))
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.0.id().to_string();
        assert_status(&run(Command::new("kill").args(["-s", name, &pid])), 0);
    }

    /// Waits for the end of the process, at most [`MAX_RUN_TIME`], without blocking the lab's thread. The output is
    /// read only at the end, so it must fit into a pipe.
    pub(crate) async fn wait(&mut self) -> Output {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.0.try_wait().expect("the child can be waited for") {
                break status;
            }
            assert!(start.elapsed() < MAX_RUN_TIME, "the process does not end");
            tokio::time::sleep(Duration::from_millis(10)).await;
        };
        Output {
            status,
            stdout: read_all(self.0.stdout.take()),
            stderr: read_all(self.0.stderr.take()),
        }
    }
}

impl Drop for BackgroundProcess {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            let group = format!("-{}", self.0.id());
            let _ = run(Command::new("kill").args(["-s", "KILL", "--", &group]));
            let _ = self.0.wait();
        }
    }
}

fn read_all(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut pipe = pipe.expect("the output is a pipe");
    pipe.read_to_end(&mut bytes).expect("the pipe is readable");
    bytes
}
