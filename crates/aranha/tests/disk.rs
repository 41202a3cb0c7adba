//! A disk that fills up during a crawl.

mod process;
mod support;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use aranha_lab::{Lab, Plan, Sizes};
use process::{BackgroundProcess, assert_error, run};
use support::{answered, aranha, assert_status, assert_valid, expected};

/// A disk of a few kilobytes for one command: a tmpfs in its own mount namespace. The files are lost with
/// the namespace, so they are copied to `rescued` when the command has ended.
struct SmallDisk {
    folder: PathBuf,
    rescued: PathBuf,
}

impl SmallDisk {
    fn new(parent: &Path) -> Self {
        let (folder, rescued) = (parent.join("disk"), parent.join("rescued"));
        std::fs::create_dir(&folder).expect("the folder is created");
        Self { folder, rescued }
    }

    /// Flags with which `unshare` may mount a disk: as root, or as root of a user namespace. `None` if neither is
    /// allowed, as in some containers.
    fn namespace_flags() -> Option<&'static [&'static str]> {
        let choices: [&[&str]; 2] = [&["--mount"], &["--mount", "--map-root-user"]];
        choices.into_iter().find(|flags| {
            let mount = ["mount", "-t", "tmpfs", "aranha", "/mnt"];
            let tried = Command::new("unshare")
                .args(*flags)
                .args(mount)
                .stderr(Stdio::null())
                .status();
            tried.is_ok_and(|status| status.success())
        })
    }

    /// Returns a command that runs the given command with a disk of this size.
    fn wrap(&self, flags: &[&str], kilobytes: u32, command: &Command) -> Command {
        const SCRIPT: &str = r#"
            disk=$1 rescued=$2 size=$3; shift 3
            mount -t tmpfs -o "size=${size}k" aranha "$disk" || exit 99
            "$@"; status=$?
            cp -a "$disk" "$rescued" || exit 98
            exit $status"#;
        let mut wrapped = Command::new("unshare");
        wrapped
            .args(flags)
            .args(["sh", "-c", SCRIPT, "sh"])
            .args([&self.folder, &self.rescued])
            .arg(kilobytes.to_string())
            .arg(command.get_program())
            .args(command.get_args())
            .stdin(Stdio::null());
        wrapped
    }

    /// Moves the rescued files to the original folder, which is on a larger disk.
    fn restore(&self) {
        std::fs::remove_dir(&self.folder).expect("the mount point is empty");
        std::fs::rename(&self.rescued, &self.folder).expect("the rescued copy exists");
    }
}

/// The disk fills up before the collection is created, at the first pages, or later, depending on its size. The crawl
/// ends with status 3, an error and a hint. With more space the same command fetches all pages, and the archive is
/// valid.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_stops_the_crawl_and_the_same_command_continues() {
    let Some(flags) = SmallDisk::namespace_flags() else {
        println!("skipped: mount namespaces are not available");
        return;
    };
    let plan = Plan {
        pages: Sizes {
            smallest: 8,
            largest: 90,
        },
        ..Plan::small(12)
    };
    let lab = Lab::start(plan).await.unwrap();
    for kilobytes in [16, 128, 400, 560, 700, 900] {
        let folder_above = tempfile::tempdir().unwrap();
        let disk = SmallDisk::new(folder_above.path());
        let folder = disk.folder.join("crawl");
        let settings = folder_above.path().join("fast.toml");
        std::fs::write(
            &settings,
            "[crawl]\ncheck_in_interval = \"50ms\"\npause_factor = 0\n",
        )
        .unwrap();
        let mut command = aranha();
        command
            .arg("crawl")
            .args(lab.seeds())
            .args([
                OsStr::new("-c"),
                folder.as_os_str(),
                OsStr::new("--config"),
                settings.as_os_str(),
            ])
            .args([
                "--scope",
                "any",
                "--allow-private",
                "--contact",
                "test@localhost",
                "--quiet",
            ])
            .args(["--pause", "5ms", "--resolver", &lab.resolver().to_string()]);
        let stopped = BackgroundProcess::start(disk.wrap(flags, kilobytes, &command))
            .wait()
            .await;
        assert_error(&stopped, 3, &folder.display().to_string());
        let message = String::from_utf8_lossy(&stopped.stderr);
        assert!(
            message.contains("full") || message.contains("no space left"),
            "{message}"
        );
        assert!(message.contains("free some disk space"), "{message}");
        disk.restore();
        assert_status(&BackgroundProcess::start(command).wait().await, 0);
        assert_eq!(
            answered(&lab, &folder),
            expected(&lab),
            "after {kilobytes} kB"
        );
        assert_valid(&folder);
        assert_status(&run(aranha().args(["check", "-c"]).arg(&folder)), 0);
    }
}
