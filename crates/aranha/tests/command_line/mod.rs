//! Runs the binary and checks stdout, stderr and exit status.

use std::io::Write;
use std::process::{Command, Output, Stdio};

/// A command that has not been started.
pub(crate) struct CommandLine(Command);

/// `aranha` with these arguments.
pub(crate) fn aranha(arguments: &[&str]) -> CommandLine {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aranha"));
    command
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    CommandLine(command)
}

impl CommandLine {
    /// Runs the command with this text on stdin.
    pub(crate) fn input(mut self, text: &str) -> CommandResult {
        let mut child = self
            .0
            .stdin(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut stdin = child.stdin.take().expect("stdin is a pipe");
        // Writing fails if the command has ended without reading stdin.
        let _ = stdin.write_all(text.as_bytes());
        drop(stdin);
        CommandResult {
            output: child.wait_with_output().expect("the binary ends"),
            command: format!("{:?}", self.0),
        }
    }

    /// Runs the command with a stdout whose reader has closed it.
    pub(crate) fn stdout_closed(mut self) -> CommandResult {
        let (reader, writer) = std::io::pipe().expect("the system creates a pipe");
        drop(reader);
        let output = self
            .0
            .stdin(Stdio::null())
            .stdout(writer)
            .output()
            .expect("the binary ends");
        CommandResult {
            output,
            command: format!("{:?}", self.0),
        }
    }
}

/// The result of a command. Each method checks one part of it.
pub(crate) struct CommandResult {
    pub(crate) output: Output,
    command: String,
}

impl CommandResult {
    pub(crate) fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    pub(crate) fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    #[track_caller]
    pub(crate) fn stdout(self, expected: &str) -> Self {
        assert_eq!(self.stdout_text(), expected, "stdout of {}", self.command);
        self
    }

    #[track_caller]
    pub(crate) fn stderr(self, expected: &str) -> Self {
        assert_eq!(self.stderr_text(), expected, "stderr of {}", self.command);
        self
    }

    /// Checks the exit status. This is the last call of a chain.
    #[track_caller]
    pub(crate) fn status(self, expected: i32) {
        assert_eq!(
            self.output.status.code(),
            Some(expected),
            "status of {}; {}",
            self.command,
            self.stderr_text()
        );
    }
}
