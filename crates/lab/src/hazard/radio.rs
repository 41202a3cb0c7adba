//! A radio station and a camera: streams that never end, at the speed at which they are listened to.
//!
//! D8, Viuva Negra 4.1 (infinite size: streaming media), N6: the size limit of a page is reached after an hour, the lowest speed
//! is kept for ever; only the media type or a limit on the time ends it. Icecast's `audio/mpeg`, Shoutcast's `ICY`, the
//! `multipart/x-mixed-replace` of web cameras, and a playlist that is a page of text with the stream's URL in it.

use std::io;
use std::time::Duration;

use super::Visit;

/// 128 kbit/s.
const PIECE: usize = 4096;
const INTERVAL: Duration = Duration::from_millis(250);
const FRAME: &[u8] = b"\xff\xfb\x90\x64";

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    let head = match visit.target() {
        "/listen.mp3" => "HTTP/1.0 200 OK\r\nContent-Type: audio/mpeg\r\nicy-name: Lab\r\n\r\n",
        "/stream" => "ICY 200 OK\r\nicy-name: Lab\r\nContent-Type: audio/mpeg\r\n\r\n",
        "/live.html" => "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<title>Live</title>",
        "/camera" => {
            "HTTP/1.0 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=b\r\n\r\n--b\r\n"
        }
        "/playlist.m3u" => {
            let body = format!("#EXTM3U\n{}/listen.mp3\n", visit.origin());
            return visit
                .answer(200, "Content-Type: audio/x-mpegurl\r\n", body)
                .await;
        }
        _ => {
            let links = [
                "/listen.mp3",
                "/stream",
                "/live.html",
                "/camera",
                "/playlist.m3u",
            ];
            return visit.index("Radio", &links).await;
        }
    };
    visit.exchange.status(200);
    visit.send(head.as_bytes()).await?;
    loop {
        visit.repeat(FRAME, PIECE / FRAME.len()).await?;
        visit.exchange.wait(INTERVAL).await?;
    }
}
