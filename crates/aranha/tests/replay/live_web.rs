//! The live web of the tests: nginx with three hosts. One serves Debian's python3-doc. The other two serve the folders `page`
//! and `cdn` in `tests/replay/web`, whose files name each other as `page.test` and `cdn.test`.
//!
//! Every path in `/img/` is an image that shows its own path, so that a screenshot tells which image was chosen.

use std::fs;
use std::path::Path;

use crate::origin::daemon::{Daemon, free_port};

const DOCUMENTS: &str = "/usr/share/doc/python3-doc/html";
/// A folder with fonts that are not installed on the system.
const FONTS: &str = "/usr/share/doc/rust-doc/html";

/// The servers. They end when the value is dropped.
pub(crate) struct LiveWeb {
    /// `http://HOST:PORT` of python3-doc.
    pub(crate) documents: String,
    /// `http://HOST:PORT` of the folder `page`.
    pub(crate) page: String,
    _nginx: Daemon,
    _folder: tempfile::TempDir,
}

impl LiveWeb {
    pub(crate) fn start() -> Self {
        for needed in [DOCUMENTS, FONTS] {
            assert!(
                Path::new(needed).join("index.html").exists(),
                "{needed} is missing: run ./test once to install the tools of the tests"
            );
        }
        let folder = tempfile::tempdir().unwrap();
        let [page, cdn, documents] =
            ["127.0.0.11", "127.0.0.12", "127.0.0.13"].map(|address| (address, free_port(address)));
        let authority = |(address, port)| format!("{address}:{port}");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/replay/web");
        copy(&source, folder.path(), &|text| {
            text.replace("page.test", &authority(page))
                .replace("cdn.test", &authority(cdn))
        });
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("page/fonts")).unwrap();
        fs::create_dir(at("cdn/fonts")).unwrap();
        let font = |name: &str| Path::new(FONTS).join(name);
        fs::copy(
            font("SourceSerif4-It.ttf.woff2"),
            at("page/fonts/italic.woff2"),
        )
        .unwrap();
        fs::copy(font("FiraSans-Medium.woff2"), at("cdn/fonts/sans.woff2")).unwrap();
        fs::write(at("page/data/tone.wav"), tone()).unwrap();
        let picture = Path::new(DOCUMENTS).join("_images/logging_flow.png");
        fs::copy(picture, at("page/flow.png")).unwrap();
        let configuration = configuration(folder.path(), page, cdn, documents);
        let file = at("nginx.conf");
        fs::write(&file, configuration).unwrap();
        let mut command = std::process::Command::new("/usr/sbin/nginx");
        command.args(["-e", "stderr", "-c"]).arg(&file);
        let nginx = Daemon::wait(&mut command, page.0, page.1, &at("nginx.out"));
        Self {
            documents: format!("http://{}", authority(documents)),
            page: format!("http://{}", authority(page)),
            _nginx: nginx,
            _folder: folder,
        }
    }
}

type Address = (&'static str, u16);

fn configuration(folder: &Path, page: Address, cdn: Address, documents: Address) -> String {
    let here = folder.display();
    let places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {here}/{kind};\n"))
        .concat();
    let image = |colour: &str| {
        format!(
            "location /img/ {{ default_type image/svg+xml; return 200 '<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"120\" height=\"60\">\
             <rect width=\"120\" height=\"60\" fill=\"{colour}\" stroke=\"#036\"/><text x=\"4\" y=\"30\" font-size=\"10\">$uri</text></svg>'; }}"
        )
    };
    let listen = |(address, port): Address| format!("listen {address}:{port};");
    format!(
        "daemon off; master_process off; pid {here}/nginx.pid; error_log {here}/nginx.err;\n\
         events {{ worker_connections 256; }}\n\
         http {{\n{places}access_log off; gzip on; gzip_types text/css text/javascript;\n\
         types {{ text/html html; text/css css; text/javascript js mjs; application/json json; image/svg+xml svg;\n\
         image/png png; font/woff2 woff2; audio/wav wav; application/manifest+json webmanifest; }}\n\
         server {{ {} root {here}/page; {}\n\
         location /moved/ {{ return 302 /img/moved.svg; }}\n\
         location /album/ {{ add_header Link '</img/early.svg>; rel=preload; as=image'; }} }}\n\
         server {{ {} root {here}/cdn; add_header Access-Control-Allow-Origin *; {} }}\n\
         server {{ {} root {DOCUMENTS}; }} }}\n",
        listen(page),
        image("#bde"),
        listen(cdn),
        image("#edb"),
        listen(documents),
    )
}

/// Copies a folder of text files with their folders. `edit` returns the new text of a file.
fn copy(from: &Path, to: &Path, edit: &impl Fn(&str) -> String) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir(&to).unwrap();
            copy(&entry.path(), &to, edit);
        } else {
            let text = fs::read_to_string(entry.path()).unwrap();
            fs::write(&to, edit(&text)).unwrap();
        }
    }
}

/// A sound of one second: WAV, one channel, 8000 samples of 8 bits.
fn tone() -> Vec<u8> {
    let samples: Vec<u8> = (0..8000_u32)
        .map(|time| if time % 20 < 10 { 96 } else { 160 })
        .collect();
    let length = u32::try_from(samples.len()).unwrap();
    [
        b"RIFF",
        &(36 + length).to_le_bytes()[..],
        b"WAVEfmt \x10\0\0\0\x01\0\x01\0",
        &8000_u32.to_le_bytes(),
        &8000_u32.to_le_bytes(),
        b"\x01\0\x08\0data",
        &length.to_le_bytes(),
        &samples,
    ]
    .concat()
}
