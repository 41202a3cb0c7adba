//! Commands that must end, in the background or at once, and the form of their complaints.

#![allow(dead_code, reason = "every test file uses its own part of this")]

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::support::assert_status;

/// No crawl of a lab this small takes longer.
pub(crate) const LONGEST: Duration = Duration::from_mins(1);

/// A command that must end soon, because nothing may begin.
pub(crate) fn run(command: &mut Command) -> Output {
    command.output().expect("the command runs")
}

/// Nothing on stdout, `error:` with a sentence that holds this, `hint:` with a next step, and no third line.
#[track_caller]
pub(crate) fn assert_error(output: &Output, status: i32, sentence: &str) {
    assert_status(output, status);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    let stderr = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<_> = stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{stderr}");
    let said = lines[0].strip_prefix("error: ").unwrap_or_default();
    assert!(said.contains(sentence), "no `{sentence}` in: {stderr}");
    let hint = lines[1].strip_prefix("hint: ").unwrap_or_default();
    assert!(!hint.is_empty(), "no hint in: {stderr}");
}

/// A command in the background; it and what it started end when the test ends.
pub(crate) struct Running(pub(crate) Child);

impl Running {
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

    /// Waits without holding up the lab, and not for ever. What is said must fit into a pipe.
    pub(crate) async fn ended(&mut self) -> Output {
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.0.try_wait().expect("the child is ours") {
                break status;
            }
            assert!(began.elapsed() < LONGEST, "it does not end");
            tokio::time::sleep(Duration::from_millis(10)).await;
        };
        Output {
            status,
            stdout: everything(self.0.stdout.take()),
            stderr: everything(self.0.stderr.take()),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            let group = format!("-{}", self.0.id());
            let _ = run(Command::new("kill").args(["-s", "KILL", "--", &group]));
            let _ = self.0.wait();
        }
    }
}

fn everything(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut pipe = pipe.expect("it was started with pipes");
    pipe.read_to_end(&mut bytes).expect("a pipe can be read");
    bytes
}
