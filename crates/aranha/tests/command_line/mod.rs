//! Runs the real binary and looks at what came out.

use std::io::Write;
use std::process::{Command, Output, Stdio};

/// A command line that has not been started.
pub(crate) struct Line(Command);

/// `aranha` with these arguments.
pub(crate) fn aranha(arguments: &[&str]) -> Line {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aranha"));
    command
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Line(command)
}

impl Line {
    /// Runs it with this on stdin.
    pub(crate) fn input(mut self, text: &str) -> Run {
        let mut child = self
            .0
            .stdin(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut stdin = child.stdin.take().expect("stdin is a pipe");
        // A command that does not read its input may be gone already.
        let _ = stdin.write_all(text.as_bytes());
        drop(stdin);
        Run {
            output: child.wait_with_output().expect("the binary ends"),
            shown: format!("{:?}", self.0),
        }
    }

    /// Runs it with nobody at the other end of stdout.
    pub(crate) fn stdout_closed(mut self) -> Run {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = self
            .0
            .stdin(Stdio::null())
            .stdout(writer)
            .output()
            .expect("the binary ends");
        Run {
            output,
            shown: format!("{:?}", self.0),
        }
    }
}

/// What came out; each method checks one thing and hands it on.
pub(crate) struct Run {
    pub(crate) output: Output,
    shown: String,
}

impl Run {
    pub(crate) fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    pub(crate) fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    #[track_caller]
    pub(crate) fn stdout(self, expected: &str) -> Self {
        assert_eq!(self.stdout_text(), expected, "stdout of {}", self.shown);
        self
    }

    #[track_caller]
    pub(crate) fn stderr(self, expected: &str) -> Self {
        assert_eq!(self.stderr_text(), expected, "stderr of {}", self.shown);
        self
    }

    /// Last in the chain.
    #[track_caller]
    pub(crate) fn status(self, expected: i32) {
        assert_eq!(
            self.output.status.code(),
            Some(expected),
            "status of {}; {}",
            self.shown,
            self.stderr_text()
        );
    }
}
