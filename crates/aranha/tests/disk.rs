//! A disk that fills up (issue: "It must show"): the crawl ends in order with status 3 and says so in one sentence and
//! a hint; with more room the same command finds exactly what there is, and the archive is valid.

mod process;
mod support;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use aranha_lab::{Lab, Plan, Sizes};
use process::{Running, assert_error, run};
use support::{answered, aranha, assert_status, assert_valid, expected};

/// A disk of a few kilobytes for one command: a tmpfs in a mount namespace of its own, gone when the command ends.
/// What was on it is then found in `folder`, where it was mounted.
struct SmallDisk {
    folder: PathBuf,
    rescued: PathBuf,
}

impl SmallDisk {
    fn new(place: &Path) -> Self {
        let (folder, rescued) = (place.join("disk"), place.join("rescued"));
        std::fs::create_dir(&folder).expect("the place is ours");
        Self { folder, rescued }
    }

    /// How a namespace can be had: as root, or as root of a user namespace; not in every container.
    fn namespace() -> Option<&'static [&'static str]> {
        let ways: [&[&str]; 2] = [&["--mount"], &["--mount", "--map-root-user"]];
        ways.into_iter().find(|way| {
            let mount = ["mount", "-t", "tmpfs", "aranha", "/mnt"];
            let tried = Command::new("unshare")
                .args(*way)
                .args(mount)
                .stderr(Stdio::null())
                .status();
            tried.is_ok_and(|status| status.success())
        })
    }

    /// The command on a disk of this size.
    fn wrap(&self, way: &[&str], kilobytes: u32, command: &Command) -> Command {
        const SCRIPT: &str = r#"
            disk=$1 rescued=$2 size=$3; shift 3
            mount -t tmpfs -o "size=${size}k" aranha "$disk" || exit 99
            "$@"; status=$?
            cp -a "$disk" "$rescued" || exit 98
            exit $status"#;
        let mut wrapped = Command::new("unshare");
        wrapped
            .args(way)
            .args(["sh", "-c", SCRIPT, "sh"])
            .args([&self.folder, &self.rescued])
            .arg(kilobytes.to_string())
            .arg(command.get_program())
            .args(command.get_args())
            .stdin(Stdio::null());
        wrapped
    }

    /// Everything that was on the disk, on a larger one at the same place.
    fn replace(&self) {
        std::fs::remove_dir(&self.folder).expect("the disk is gone");
        std::fs::rename(&self.rescued, &self.folder).expect("the copy is there");
    }
}

/// The disk fills up before anything is laid out, at the first pages, in the middle: status 3, and with more room the
/// same command finds exactly what there is.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_stops_the_crawl_and_the_same_command_continues() {
    let Some(way) = SmallDisk::namespace() else {
        println!("left out: no mount namespace can be had here, so no disk can be made small");
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
        let place = tempfile::tempdir().unwrap();
        let disk = SmallDisk::new(place.path());
        let folder = disk.folder.join("crawl");
        let settings = place.path().join("fast.toml");
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
        let stopped = Running::start(disk.wrap(way, kilobytes, &command))
            .ended()
            .await;
        assert_error(&stopped, 3, &folder.display().to_string());
        let said = String::from_utf8_lossy(&stopped.stderr);
        assert!(
            said.contains("full") || said.contains("no space left"),
            "{said}"
        );
        assert!(said.contains("free some disk space"), "{said}");
        disk.replace();
        assert_status(&Running::start(command).ended().await, 0);
        assert_eq!(
            answered(&lab, &folder),
            expected(&lab),
            "after {kilobytes} kB"
        );
        assert_valid(&folder);
        assert_status(&run(aranha().args(["check", "-c"]).arg(&folder)), 0);
    }
}
