//! Tests of the attacks: decompression bombs, refused addresses, cookies, control characters.

use std::io::{Read, Write};

use aranha_lab::{BLACK_LIST, Hazard, Lab};
use flate2::read::{DeflateDecoder, GzDecoder, ZlibDecoder};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

use super::{Client, body, get, links, raw, text, with};

const ENOUGH: u64 = 80 << 20;

/// Reads zeros from a decoder and returns their number. Stops after [`ENOUGH`] bytes, so that the test is fast.
fn unpacked(reader: impl Read) -> u64 {
    let mut reader = reader.take(ENOUGH);
    let mut piece = vec![0; 1 << 16];
    let mut count = 0;
    loop {
        let read = reader.read(&mut piece).expect("the stream is valid");
        if read == 0 {
            return count;
        }
        assert!(piece[..read].iter().all(|byte| *byte == 0));
        count += read as u64;
    }
}

async fn coded(lab: &Lab, target: &str, coding: &str) -> Vec<u8> {
    let seen = raw(lab, target, usize::MAX).await;
    let head = text(&seen[..seen.len() - body(&seen).len()]);
    assert!(
        head.contains(&format!("Content-Encoding: {coding}\r\n")),
        "{target}: {head}"
    );
    body(&seen).to_vec()
}

#[tokio::test]
async fn bombs_are_small_and_decode_without_errors() {
    let lab = with(Hazard::Bomb).await;
    let gzip = coded(&lab, "/gzip", "gzip").await;
    assert!(gzip.len() < 1_100_000);
    assert_eq!(unpacked(GzDecoder::new(&gzip[..])), ENOUGH);
    let deflate = coded(&lab, "/deflate", "deflate").await;
    assert_eq!(unpacked(ZlibDecoder::new(&deflate[..])), ENOUGH);
    let deflate = coded(&lab, "/raw", "deflate").await;
    assert_eq!(unpacked(DeflateDecoder::new(&deflate[..])), ENOUGH);
    let zstd = coded(&lab, "/zstd", "zstd").await;
    assert!(zstd.len() < 40_000);
    assert_eq!(
        unpacked(zstd::stream::read::Decoder::new(&zstd[..]).unwrap()),
        ENOUGH
    );
    let brotli = coded(&lab, "/br", "br").await;
    assert!(brotli.len() < 1000, "{}", brotli.len());
    assert_eq!(
        unpacked(brotli_decompressor::Decompressor::new(&brotli[..], 4096)),
        ENOUGH
    );
    let twice = coded(&lab, "/twice", "gzip, gzip").await;
    assert!(twice.len() < 50_000, "{}", twice.len());
    assert_eq!(unpacked(GzDecoder::new(GzDecoder::new(&twice[..]))), ENOUGH);
    let thrice = coded(&lab, "/thrice", "gzip, gzip, gzip").await;
    assert_eq!(
        unpacked(GzDecoder::new(GzDecoder::new(GzDecoder::new(&thrice[..])))),
        ENOUGH
    );
}

/// Decodes two bombs to the end, which also checks their checksums. The other formats would take too long.
#[tokio::test]
async fn bombs_decode_to_one_gigabyte_with_a_valid_checksum() {
    struct Count(u64);
    impl Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let lab = with(Hazard::Bomb).await;
    let mut count = Count(0);
    let zstd = coded(&lab, "/zstd", "zstd").await;
    zstd::stream::copy_decode(&zstd[..], &mut count).unwrap();
    assert_eq!(count.0, 1 << 30);
}

#[tokio::test]
async fn a_page_in_a_hundred_gzip_layers_decodes() {
    let lab = with(Hazard::Bomb).await;
    let onion = coded(&lab, "/hundred", &["gzip"; 100].join(", ")).await;
    let mut bytes = onion;
    for _ in 0..100 {
        let mut inner = Vec::new();
        GzDecoder::new(&bytes[..]).read_to_end(&mut inner).unwrap();
        bytes = inner;
    }
    assert_eq!(text(&bytes), "<title>Onion</title>");
}

#[tokio::test]
async fn inward_links_to_refused_addresses_in_every_notation() {
    let lab = with(Hazard::Inward).await;
    let all = links(&lab, "/").await;
    assert_eq!(all.len(), 50);
    let port = lab.port();
    for form in [
        format!("http://127.166.0.1:{port}/dotted"),
        format!("http://2141585409:{port}/decimal"),
        format!("http://[::ffff:127.166.0.1]:{port}/mapped"),
        format!("http://inward.lab:{port}\\@127.166.0.1:{port}/backslash"),
        format!("http://0:{port}/zero"),
        format!("http://[::1]:{port}/six"),
    ] {
        let place = all.iter().position(|link| *link == form);
        let place = place.unwrap_or_else(|| panic!("{form} in {all:?}"));
        let got = get(&lab, &format!("/to/{place}")).await;
        assert_eq!(
            (got.status, got.header("location")),
            (302, Some(form.as_str()))
        );
    }
    for form in ["2141585409", "017751400001", "0x7fa60001"] {
        assert!(form.len() < 13);
    }
    assert_eq!(
        u32::from(std::net::Ipv4Addr::new(127, 166, 0, 1)),
        2_141_585_409
    );
    assert_eq!(0o17_751_400_001_u32, 0x7fa6_0001);
    assert_eq!((166 << 16) + 1, 10_878_977);
}

#[tokio::test]
async fn connections_to_refused_addresses_are_counted() {
    let lab = with(Hazard::Inward).await;
    assert!(lab.trespasses().is_empty());
    let addresses = [
        "127.166.0.1",
        "127.166.0.8",
        "127.0.0.1",
        "::ffff:127.166.0.3",
        "::1",
    ];
    for (count, address) in addresses.iter().enumerate() {
        let address: std::net::IpAddr = address.parse().unwrap();
        let mut stream = TcpStream::connect((address, lab.port())).await.unwrap();
        assert_eq!(
            stream.read(&mut [0; 10]).await.unwrap(),
            0,
            "the server sends nothing"
        );
        let seen = lab.trespasses();
        assert_eq!(seen.len(), count + 1);
        assert_eq!(seen[count].address, address.to_canonical());
    }
    assert!(lab.log().is_empty());
    lab.clear();
    assert!(lab.trespasses().is_empty());
    assert_eq!(BLACK_LIST[0], "127.166.0.0/16");
}

#[tokio::test]
async fn connections_are_counted_when_one_socket_serves_all_addresses() {
    let plan = aranha_lab::Plan {
        addresses: 300,
        hazards: Hazard::ALL.to_vec(),
        ..aranha_lab::Plan::small(1)
    };
    let lab = Lab::start(plan).await.unwrap();
    let mut stream = TcpStream::connect(("127.166.77.1", lab.port()))
        .await
        .unwrap();
    assert_eq!(stream.read(&mut [0; 10]).await.unwrap(), 0);
    assert_eq!(lab.trespasses().len(), 1);
    let got = Client::to(&lab, "calendar.lab")
        .await
        .get("calendar.lab", "/", "")
        .await;
    assert_eq!(got.status, 200);
    let address = lab.web().address("down.lab").unwrap();
    let mut stream = TcpStream::connect((address, lab.port())).await.unwrap();
    assert!(stream.read(&mut [0; 10]).await.is_err(), "reset");
}

#[tokio::test]
async fn metadata_and_schemes_link_and_redirect_to_their_targets() {
    let lab = with(Hazard::Metadata).await;
    let all = links(&lab, "/").await;
    assert!(all.contains(&"http://169.254.169.254/latest/meta-data/".to_owned()));
    assert!(all.contains(&"http://[64:ff9b::a00:1]/".to_owned()));
    assert_eq!(
        get(&lab, "/to/5").await.header("location"),
        Some("http://10.0.0.1/")
    );
    let lab = with(Hazard::Schemes).await;
    let all = links(&lab, "/").await;
    assert!(all.contains(&"gopher://127.166.0.1:25/_MAIL%20FROM".to_owned()));
    assert_eq!(
        get(&lab, "/to/0").await.header("location"),
        Some("file:///etc/passwd")
    );
}

#[tokio::test]
async fn cookies_are_many_and_name_foreign_domains() {
    let lab = with(Hazard::Cookies).await;
    let got = get(&lab, "/").await;
    let cookies: Vec<&str> = got
        .headers
        .iter()
        .filter(|(name, _)| name == "set-cookie")
        .map(|(_, value)| value.as_str())
        .collect();
    assert_eq!(cookies.len(), 52);
    assert!(cookies.contains(&"super=1; Domain=lab; Path=/"));
    assert!(cookies.contains(&"super=1; Domain=site000.lab; Path=/"));
    assert!(cookies.iter().any(|cookie| cookie.len() > 4000));
    assert!(text(&raw(&lab, "/jar/7", 50_000).await).contains("flood280="));
    let host = Hazard::Cookies.host();
    let sent = "Cookie: flood1=x\r\nAuthorization: Basic eDp5\r\n";
    Client::to(&lab, host).await.get(host, "/", sent).await;
    let log = lab.log();
    let last = log.last().unwrap();
    assert_eq!(
        (last.cookie.as_str(), last.authorization.as_str()),
        ("flood1=x", "Basic eDp5")
    );
}

#[tokio::test]
async fn credentials_are_requested_and_redirects_leave_the_site() {
    let lab = with(Hazard::Credentials).await;
    let got = get(&lab, "/private").await;
    assert_eq!(got.status, 401);
    assert!(got.header("www-authenticate").is_some());
    let got = get(&lab, "/leave").await;
    assert!(got.header("location").unwrap().starts_with(&lab.seeds()[0]));
    assert!(
        get(&lab, "/named")
            .await
            .header("location")
            .unwrap()
            .starts_with("http://user:password@")
    );
}

#[tokio::test]
async fn control_characters_are_in_headers_titles_and_links() {
    let lab = with(Hazard::Escape).await;
    let seen = raw(&lab, "/", 10_000).await;
    let (head, page) = (&seen[..seen.len() - body(&seen).len()], body(&seen));
    for part in [head, page] {
        assert!(part.contains(&0x1b) && part.contains(&0x07));
    }
    assert!(text(head).contains("one\rX-Injected"));
    assert!(text(page).contains("/lf\r\nX-Injected: 1\r\n.html"));
    let redirect = raw(&lab, "/redirect", 10_000).await;
    assert!(text(&redirect).contains("Location: /to/\x1b[31m"));
}

#[tokio::test]
async fn the_sitemaps_list_a_thousand_foreign_names() {
    let lab = with(Hazard::Foreign).await;
    let robots = get(&lab, "/robots.txt").await.text();
    assert_eq!(robots.matches("Sitemap: ").count(), 2);
    for sitemap in ["/index.xml", "/names.xml"] {
        let text = get(&lab, sitemap).await.text();
        assert_eq!(text.matches("-foreign.lab").count(), 1000, "{sitemap}");
    }
    assert_eq!(lab.web().address("name1-foreign.lab"), None);
}

#[tokio::test]
async fn layers_have_the_ratios_that_they_claim() {
    let lab = with(Hazard::Layers).await;
    let decoded = 24 << 20;
    let thin = coded(&lab, "/thin", "gzip").await.len();
    assert!((10..100).contains(&(decoded / thin)), "{thin}");
    let page = coded(&lab, "/page", "gzip").await.len();
    assert!(decoded / page > 100, "{page}");
    assert!(coded(&lab, "/br-gzip", "br, gzip").await.len() < 64 << 10);
    let chunked = get(&lab, "/chunked").await;
    assert_eq!(chunked.header("transfer-encoding"), Some("chunked"));
}
