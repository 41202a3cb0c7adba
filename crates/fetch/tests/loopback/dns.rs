//! Tests of the resolver with a scripted name server on loopback.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex},
    time::Duration,
};

use crate::scripted_server::{canon, fetcher, options};
use aranha_fetch::{Options, Resolved};
use hickory_proto::{
    op::{Message, ResponseCode},
    rr::{Name, RData, Record, RecordType, rdata},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, UdpSocket},
    time::Instant,
};

/// The delay of answers for `slow.example`.
const SLOW_ANSWER: Duration = Duration::from_secs(4);

/// Starts a name server. Returns its address and the list to which it adds every query.
pub(crate) async fn start() -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    start_at("127.0.0.1:0".parse().unwrap()).await
}

pub(crate) async fn start_at(address: SocketAddr) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let socket = Arc::new(UdpSocket::bind(address).await.unwrap());
    let address = socket.local_addr().unwrap();
    let received = Arc::new(Mutex::new(Vec::new()));
    let questions = received.clone();
    tokio::spawn(async move {
        let mut buffer = [0; 2048];
        while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
            let question = Message::from_vec(&buffer[..length]).unwrap();
            let query = question.queries[0].clone();
            let text = format!("{} {}", query.name(), query.query_type());
            let is_first = {
                let mut questions = questions.lock().unwrap();
                let is_first = !questions.contains(&text);
                questions.push(text);
                is_first
            };
            if is_first && query.name().to_string() == "lossy.example." {
                continue;
            }
            if let Some(answer) = answer(&question) {
                let socket = socket.clone();
                tokio::spawn(async move {
                    if query.name().to_string() == "slow.example." {
                        tokio::time::sleep(SLOW_ANSWER).await;
                    }
                    let mut bytes = answer.to_vec().unwrap();
                    if query.name().to_string() == "malformed.example." {
                        add_malformed_answer(&mut bytes);
                    }
                    socket.send_to(&bytes, from).await.unwrap();
                });
            }
        }
    });
    (address, received)
}

/// Adds an A record with three bytes instead of four.
fn add_malformed_answer(message: &mut Vec<u8>) {
    message[7] += 1;
    message.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 3, 1, 2, 3]);
}

/// Starts a name server that sends its answers over TCP only. Over UDP it says that they are too long.
async fn start_tcp() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let socket = UdpSocket::bind(address).await.unwrap();
    tokio::spawn(async move {
        let mut buffer = [0; 2048];
        while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
            let question = Message::from_vec(&buffer[..length]).unwrap();
            let mut answer = Message::response(question.metadata.id, question.metadata.op_code);
            answer.add_query(question.queries[0].clone());
            answer.metadata.truncation = true;
            let bytes = answer.to_vec().unwrap();
            socket.send_to(&bytes, from).await.unwrap();
        }
    });
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            tokio::spawn(async move {
                while let Ok(length) = connection.read_u16().await {
                    let mut bytes = vec![0; length.into()];
                    connection.read_exact(&mut bytes).await.unwrap();
                    let question = Message::from_vec(&bytes).unwrap();
                    let mut bytes = answer(&question).unwrap().to_vec().unwrap();
                    add_malformed_answer(&mut bytes);
                    connection.write_u16(bytes.len() as u16).await.unwrap();
                    connection.write_all(&bytes).await.unwrap();
                }
            });
        }
    });
    address
}

/// The answer to a query; `None` if the server does not answer.
fn answer(question: &Message) -> Option<Message> {
    let query = question.queries[0].clone();
    let mut answer = Message::response(question.metadata.id, question.metadata.op_code);
    answer.add_query(query.clone());
    answer.metadata.recursion_available = true;
    let name = query.name().to_string();
    let v4 = |last| RData::A(rdata::A::new(127, 0, 0, last));
    let v6 = RData::AAAA(rdata::AAAA::new(0xfd00, 0, 0, 0, 0, 0, 0, 1));
    let alias = |name| RData::CNAME(rdata::CNAME(Name::from_ascii(name).unwrap()));
    let mut add = |data| {
        answer.add_answer(Record::from_rdata(query.name().clone(), 600, data));
    };
    match (name.as_str(), query.query_type()) {
        (
            "both.example." | "four.example." | "slow.example." | "lossy.example."
            | "malformed.example.",
            RecordType::A,
        ) => {
            add(v4(1));
            add(v4(2));
        }
        ("both.example." | "six.example.", RecordType::AAAA) => add(v6),
        ("meta.example.", RecordType::A) => add(RData::A(rdata::A::new(169, 254, 169, 254))),
        ("broken.example.", _) => answer.metadata.response_code = ResponseCode::ServFail,
        ("half.example.", RecordType::A) => add(v4(1)),
        ("silent.example." | "half.example.", _) => return None,
        ("ring.example.", _) => add(alias("gnir.example.")),
        ("gnir.example.", _) => add(alias("ring.example.")),
        ("alias.example.", _) => add(alias("both.example.")),
        (
            "both.example." | "four.example." | "six.example." | "none.example." | "meta.example."
            | "slow.example." | "lossy.example." | "malformed.example.",
            _,
        ) => {}
        _ => answer.metadata.response_code = ResponseCode::NXDomain,
    }
    Some(answer)
}

fn with(servers: &[SocketAddr]) -> Options {
    Options {
        resolvers: servers.to_vec(),
        dns_timeout: Duration::from_millis(900),
        ..options()
    }
}

#[tokio::test]
async fn outcomes_of_a_lookup() {
    let (server, _) = start().await;
    let fetcher = fetcher(with(&[server]));
    for (name, expected) in [
        ("both.example", "127.0.0.1 127.0.0.2 fd00::1"),
        ("both.example.", "127.0.0.1 127.0.0.2 fd00::1"),
        ("four.example", "127.0.0.1 127.0.0.2"),
        ("six.example", "fd00::1"),
        ("none.example", "dns-no-address"),
        ("missing.example", "dns-not-found"),
        ("broken.example", "dns-failed"),
        ("silent.example", "dns-timeout"),
        ("-..-", "dns-not-found"),
        ("alias.example", "127.0.0.1 127.0.0.2 fd00::1"),
        ("ring.example", "dns-no-address"),
        ("localhost", "127.0.0.1 ::1"),
        ("any.localhost", "127.0.0.1 ::1"),
        ("any.invalid", "dns-not-found"),
        ("any.onion", "dns-not-found"),
    ] {
        let found = match fetcher.resolve(name).await {
            Ok(resolved) => resolved
                .addresses
                .iter()
                .map(IpAddr::to_string)
                .collect::<Vec<_>>()
                .join(" "),
            Err(failure) => failure.code().to_owned(),
        };
        assert_eq!(found, expected, "{name}");
    }
}

/// The addresses before a malformed record are used (Castillo A.2.3).
#[tokio::test]
async fn addresses_before_a_malformed_record_are_used() {
    let addresses: Vec<IpAddr> = vec!["127.0.0.1".parse().unwrap(), "127.0.0.2".parse().unwrap()];
    for server in [start().await.0, start_tcp().await] {
        let resolved = fetcher(with(&[server])).resolve("malformed.example").await;
        assert_eq!(resolved.unwrap().addresses, addresses);
    }
}

/// The first packet of each query is lost. The only server is asked again within `dns_timeout`.
#[tokio::test]
async fn a_lost_packet_is_sent_again() {
    let (server, queries) = start().await;
    let options = Options {
        dns_timeout: Duration::from_secs(10),
        ..with(&[server])
    };
    assert!(fetcher(options).resolve("lossy.example").await.is_ok());
    assert_eq!(queries.lock().unwrap().len(), 4, "A and AAAA, twice");
}

/// The name and eleven aliases are queried, each for A and for AAAA records.
#[tokio::test]
async fn a_circular_alias_chain_is_abandoned() {
    let (server, received) = start().await;
    let fetcher = fetcher(with(&[server]));
    fetcher.resolve("ring.example").await.unwrap_err();
    let found = received.lock().unwrap().len();
    assert_eq!(found, 24);
}

#[tokio::test]
async fn concurrent_lookups_share_one_query_and_the_answer_is_cached() {
    let (server, received) = start().await;
    let fetcher = fetcher(with(&[server]));
    let lookups = (0..50).map(|_| fetcher.resolve("both.example"));
    for outcome in futures_util::future::join_all(lookups).await {
        assert_eq!(outcome.unwrap().addresses.len(), 3);
    }
    fetcher.resolve("both.example").await.unwrap();
    fetcher.resolve("missing.example").await.unwrap_err();
    fetcher.resolve("missing.example").await.unwrap_err();
    let mut questions = received.lock().unwrap().clone();
    questions.sort();
    assert_eq!(
        questions,
        [
            "both.example. A",
            "both.example. AAAA",
            "missing.example. A",
            "missing.example. AAAA"
        ]
    );
}

#[tokio::test]
async fn the_guard_checks_answers() {
    let (server, _) = start().await;
    let strict = fetcher(Options {
        allow_private: false,
        ..with(&[server])
    });
    for name in ["both.example", "meta.example", "six.example"] {
        assert_eq!(
            strict.resolve(name).await.unwrap_err().code(),
            "address-refused",
            "{name}"
        );
    }
}

/// A server that does not answer or cannot be reached delays only one look-up. Then it is skipped for a while.
#[tokio::test]
async fn a_dead_server_is_skipped() {
    let (server, _) = start().await;
    let dead = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let gone = UdpSocket::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let fetcher = fetcher(with(&[dead.local_addr().unwrap(), gone, server]));
    for name in ["four.example", "six.example", "both.example"] {
        assert!(fetcher.resolve(name).await.is_ok(), "{name}");
    }
    let begun = std::time::Instant::now();
    for n in 0..20 {
        let missing = fetcher.resolve(&format!("{n}.missing.example")).await;
        assert_eq!(missing.unwrap_err().code(), "dns-not-found");
    }
    assert!(
        begun.elapsed() < Duration::from_millis(250),
        "the dead servers are not queried again: {:?}",
        begun.elapsed()
    );
}

/// While the slow server has not answered, other servers are queried. The slow server's answer is used when it arrives.
#[tokio::test(start_paused = true)]
async fn a_slow_answer_within_the_timeout_is_used() {
    let (slow, received) = start().await;
    let silent = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let silent = silent.local_addr().unwrap();
    for servers in [vec![slow], vec![slow, silent], vec![silent, slow]] {
        received.lock().unwrap().clear();
        let fetcher = fetcher(Options {
            dns_timeout: Duration::from_secs(10),
            ..with(&servers)
        });
        let begun = Instant::now();
        let found = fetcher.resolve("slow.example").await;
        let found = found.map(|resolved| resolved.addresses.len());
        assert_eq!(found, Ok(2), "{servers:?}");
        assert!(begun.elapsed() < Duration::from_secs(7), "{servers:?}");
        assert!(!received.lock().unwrap().is_empty());
    }
}

#[tokio::test]
async fn queries_are_spread_over_the_servers() {
    let (one, heard_one) = start().await;
    let (two, heard_two) = start().await;
    let fetcher = fetcher(with(&[one, two]));
    for n in 0..10 {
        fetcher
            .resolve(&format!("{n}.missing.example"))
            .await
            .unwrap_err();
    }
    assert_eq!(
        (
            heard_one.lock().unwrap().len(),
            heard_two.lock().unwrap().len()
        ),
        (10, 10)
    );
}

/// Some servers never answer AAAA queries. A look-up must nevertheless return the IPv4 addresses soon.
#[tokio::test]
async fn an_unanswered_aaaa_query_does_not_delay_ipv4() {
    let (server, _) = start().await;
    let fetcher = fetcher(Options {
        dns_timeout: Duration::from_secs(30),
        ..with(&[server])
    });
    let begun = std::time::Instant::now();
    assert_eq!(
        fetcher
            .resolve("half.example")
            .await
            .unwrap()
            .addresses
            .len(),
        1
    );
    assert!(
        begun.elapsed() < Duration::from_secs(3),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test]
async fn answers_are_restored_after_a_restart() {
    let (server, received) = start().await;
    let first = fetcher(with(&[server]));
    let kept = first.resolve("both.example").await.unwrap();
    let text = serde_json::to_string(&kept).unwrap();
    received.lock().unwrap().clear();
    let second = fetcher(with(&[server]));
    second.restore_dns(
        "both.example",
        &serde_json::from_str::<Resolved>(&text).unwrap(),
    );
    assert_eq!(second.resolve("both.example").await.unwrap(), kept);
    assert!(received.lock().unwrap().is_empty());
    let expired = Resolved {
        expires_ms: 1,
        ..kept
    };
    second.restore_dns("four.example", &expired);
    assert_eq!(
        second
            .resolve("four.example")
            .await
            .unwrap()
            .addresses
            .len(),
        2
    );
    assert_eq!(
        received.lock().unwrap().len(),
        2,
        "an answer that expired long ago is ignored"
    );
}

/// A stale answer is refreshed although nobody uses it.
#[tokio::test]
async fn stale_answers_are_refreshed_when_idle() {
    let (server, received) = start().await;
    let fetcher = fetcher(with(&[server]));
    let fresh = fetcher.resolve("both.example").await.unwrap();
    let stale = Resolved {
        expires_ms: fresh.expires_ms - 24 * 3600 * 1000,
        ..fresh.clone()
    };
    received.lock().unwrap().clear();
    fetcher.restore_dns("four.example", &stale);
    fetcher.refresh_stale_dns();
    let is_refreshed = || {
        let answers = fetcher.dns_answers();
        let four = answers.iter().find(|(name, _)| name == "four.example");
        four.is_some_and(|(_, resolved)| resolved.expires_ms > stale.expires_ms)
    };
    while !is_refreshed() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut queries = received.lock().unwrap().clone();
    queries.sort();
    assert_eq!(queries, ["four.example. A", "four.example. AAAA"]);
}

#[tokio::test]
async fn a_cancelled_lookup_can_be_repeated() {
    let (server, _) = start().await;
    let fetcher = fetcher(with(&[server]));
    let cancelled =
        tokio::time::timeout(Duration::from_millis(20), fetcher.resolve("silent.example")).await;
    assert!(cancelled.is_err());
    assert_eq!(
        fetcher.resolve("silent.example").await.unwrap_err().code(),
        "dns-timeout"
    );
    assert_eq!(
        fetcher
            .resolve("four.example")
            .await
            .unwrap()
            .addresses
            .len(),
        2
    );
}

/// Soon after a server recovers, it gets its share of the queries again. While it is down, few queries try it.
#[tokio::test(start_paused = true)]
async fn a_recovered_server_is_queried_again() {
    let (one, heard_one) = start().await;
    let gone = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let two = gone.local_addr().unwrap();
    drop(gone);
    let fetcher = fetcher(with(&[one, two]));
    for n in 0..20 {
        let missing = fetcher.resolve(&format!("{n}.missing.example")).await;
        assert_eq!(missing.unwrap_err().code(), "dns-not-found");
    }
    assert_eq!(
        heard_one.lock().unwrap().len(),
        40,
        "the other server gets all queries"
    );
    let (_, heard_two) = start_at(two).await;
    tokio::time::advance(Duration::from_secs(61)).await;
    for n in 20..40 {
        fetcher
            .resolve(&format!("{n}.missing.example"))
            .await
            .unwrap_err();
    }
    let shares = (
        heard_one.lock().unwrap().len() - 40,
        heard_two.lock().unwrap().len(),
    );
    assert_eq!(shares, (20, 20));
}

/// The name is prefetched when a link is found, so it is in the cache when the page is fetched.
#[tokio::test]
async fn a_prefetched_name_is_queried_once() {
    let (server, received) = start().await;
    let fetcher = fetcher(with(&[server]));
    for _ in 0..100 {
        fetcher.prefetch_dns(&canon("http://both.example/"));
    }
    assert_eq!(
        fetcher
            .resolve("both.example")
            .await
            .unwrap()
            .addresses
            .len(),
        3
    );
    fetcher.prefetch_dns(&canon("http://both.example/"));
    assert_eq!(received.lock().unwrap().len(), 2, "A and AAAA");
}

/// If no server answers, the circuit breaker opens. It closes when a server answers again.
#[tokio::test(start_paused = true)]
async fn lookups_wait_while_no_server_answers() {
    let gone = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = gone.local_addr().unwrap();
    drop(gone);
    let fetcher = fetcher(with(&[address]));
    let mut watch = fetcher.watch_dns_outage();
    let lookups: Vec<_> = (0..30)
        .map(|n| {
            let fetcher = fetcher.clone();
            tokio::spawn(async move { fetcher.resolve(&format!("{n}.missing.example")).await })
        })
        .collect();
    watch.changed().await.unwrap();
    assert!(watch.borrow().is_some());
    let waiting = tokio::spawn({
        let fetcher = fetcher.clone();
        async move { fetcher.resolve("four.example").await }
    });
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert!(!waiting.is_finished());
    start_at(address).await;
    watch.changed().await.unwrap();
    assert_eq!(*watch.borrow(), None);
    assert_eq!(waiting.await.unwrap().unwrap().addresses.len(), 2);
    let mut codes: Vec<_> = Vec::new();
    for lookup in lookups {
        codes.push(lookup.await.unwrap().unwrap_err().code());
    }
    let failed = codes
        .iter()
        .filter(|code| **code != "dns-not-found")
        .count();
    assert_eq!(
        failed, 19,
        "look-ups that ended before the breaker opened: {codes:?}"
    );
}
