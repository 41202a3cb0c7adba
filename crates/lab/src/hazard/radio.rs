//! A radio station and a camera. Their streams never end, and are sent at playback speed.
//!
//! D8, N6, Viuva Negra 4.1 (streaming media). The size limit is reached only after an hour, and the stream is faster
//! than the minimum speed. Only the media type or a time limit ends the fetch. The paths imitate Icecast
//! (`audio/mpeg`), Shoutcast (`ICY`), web cameras (`multipart/x-mixed-replace`), and a playlist with the URL of a
//! stream.

use std::io;
use std::time::Duration;

use super::HazardRequest;

/// Number of bytes that are sent in each [`INTERVAL`]. The rate is 128 kbit/s.
const PIECE: usize = 4096;
const INTERVAL: Duration = Duration::from_millis(250);
const FRAME: &[u8] = b"\xff\xfb\x90\x64";

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let head = match request.target() {
        "/listen.mp3" => "HTTP/1.0 200 OK\r\nContent-Type: audio/mpeg\r\nicy-name: Lab\r\n\r\n",
        "/stream" => "ICY 200 OK\r\nicy-name: Lab\r\nContent-Type: audio/mpeg\r\n\r\n",
        "/live.html" => "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<title>Live</title>",
        "/camera" => {
            "HTTP/1.0 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=b\r\n\r\n--b\r\n"
        }
        "/playlist.m3u" => {
            let body = format!("#EXTM3U\n{}/listen.mp3\n", request.origin());
            return request
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
            return request.index("Radio", &links).await;
        }
    };
    request.exchange.status(200);
    request.send(head.as_bytes()).await?;
    loop {
        request.repeat(FRAME, PIECE / FRAME.len()).await?;
        request.exchange.wait(INTERVAL).await?;
    }
}
