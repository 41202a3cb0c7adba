//! The resolver against a name server on loopback that answers as it is told.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex},
    time::Duration,
};

use crate::scripted_server::{options, web};
use aranha_fetch::{Options, Resolved};
use hickory_proto::{
    op::{Message, ResponseCode},
    rr::{Name, RData, Record, RecordType, rdata},
};
use tokio::net::UdpSocket;

/// Starts a name server; gives its address and the questions it heard.
async fn start() -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    start_at("127.0.0.1:0".parse().unwrap()).await
}

async fn start_at(address: SocketAddr) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let socket = UdpSocket::bind(address).await.unwrap();
    let address = socket.local_addr().unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let questions = heard.clone();
    tokio::spawn(async move {
        let mut buffer = [0; 2048];
        while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
            let question = Message::from_vec(&buffer[..length]).unwrap();
            let query = question.queries[0].clone();
            questions
                .lock()
                .unwrap()
                .push(format!("{} {}", query.name(), query.query_type()));
            if let Some(answer) = answer(&question) {
                socket
                    .send_to(&answer.to_vec().unwrap(), from)
                    .await
                    .unwrap();
            }
        }
    });
    (address, heard)
}

/// What each name has.
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
        ("both.example." | "four.example.", RecordType::A) => {
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
            "both.example." | "four.example." | "six.example." | "none.example." | "meta.example.",
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
async fn outcomes_are_told_apart() {
    let (server, _) = start().await;
    let web = web(with(&[server]));
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
        let found = match web.resolve(name).await {
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

/// For both kinds of addresses, the name and eleven aliases.
#[tokio::test]
async fn a_ring_of_aliases_is_left() {
    let (server, heard) = start().await;
    let web = web(with(&[server]));
    web.resolve("ring.example").await.unwrap_err();
    let found = heard.lock().unwrap().len();
    assert_eq!(found, 24);
}

#[tokio::test]
async fn one_question_for_many_askers_and_none_while_it_is_fresh() {
    let (server, heard) = start().await;
    let web = web(with(&[server]));
    let askers = (0..50).map(|_| web.resolve("both.example"));
    for outcome in futures_util::future::join_all(askers).await {
        assert_eq!(outcome.unwrap().addresses.len(), 3);
    }
    web.resolve("both.example").await.unwrap();
    web.resolve("missing.example").await.unwrap_err();
    web.resolve("missing.example").await.unwrap_err();
    let mut questions = heard.lock().unwrap().clone();
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
async fn the_guard_judges_answers() {
    let (server, _) = start().await;
    let strict = web(Options {
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

/// Silent or failing, a server costs its time once and is then left alone for a while.
#[tokio::test]
async fn a_dead_server_is_passed_over() {
    let (server, _) = start().await;
    let dead = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let gone = UdpSocket::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let web = web(with(&[dead.local_addr().unwrap(), gone, server]));
    for name in ["four.example", "six.example", "both.example"] {
        assert!(web.resolve(name).await.is_ok(), "{name}");
    }
    let begun = std::time::Instant::now();
    for n in 0..20 {
        let missing = web.resolve(&format!("{n}.missing.example")).await;
        assert_eq!(missing.unwrap_err().code(), "dns-not-found");
    }
    assert!(
        begun.elapsed() < Duration::from_millis(250),
        "the dead ones are not asked again: {:?}",
        begun.elapsed()
    );
}

#[tokio::test]
async fn the_load_is_spread() {
    let (one, heard_one) = start().await;
    let (two, heard_two) = start().await;
    let web = web(with(&[one, two]));
    for n in 0..10 {
        web.resolve(&format!("{n}.missing.example"))
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

/// Some servers never answer for AAAA: the IPv4 addresses do not wait for them.
#[tokio::test]
async fn a_missing_half_does_not_hold_up_the_other() {
    let (server, _) = start().await;
    let web = web(Options {
        dns_timeout: Duration::from_secs(30),
        ..with(&[server])
    });
    let begun = std::time::Instant::now();
    assert_eq!(
        web.resolve("half.example").await.unwrap().addresses.len(),
        1
    );
    assert!(
        begun.elapsed() < Duration::from_secs(3),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test]
async fn answers_come_back_after_a_restart() {
    let (server, heard) = start().await;
    let first = web(with(&[server]));
    let kept = first.resolve("both.example").await.unwrap();
    let text = serde_json::to_string(&kept).unwrap();
    heard.lock().unwrap().clear();
    let second = web(with(&[server]));
    second.restore_dns(
        "both.example",
        &serde_json::from_str::<Resolved>(&text).unwrap(),
    );
    assert_eq!(second.resolve("both.example").await.unwrap(), kept);
    assert!(heard.lock().unwrap().is_empty());
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
        heard.lock().unwrap().len(),
        2,
        "an expired answer is asked for again"
    );
}

#[tokio::test]
async fn a_cancelled_question_is_taken_over() {
    let (server, _) = start().await;
    let web = web(with(&[server]));
    let cut = tokio::time::timeout(Duration::from_millis(20), web.resolve("silent.example")).await;
    assert!(cut.is_err());
    assert_eq!(
        web.resolve("silent.example").await.unwrap_err().code(),
        "dns-timeout"
    );
    assert_eq!(
        web.resolve("four.example").await.unwrap().addresses.len(),
        2
    );
}

/// A server that was away gets its share of the load again, soon after it is back; until then few questions try it.
#[tokio::test(start_paused = true)]
async fn a_server_that_comes_back_is_asked_again() {
    let (one, heard_one) = start().await;
    let gone = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let two = gone.local_addr().unwrap();
    drop(gone);
    let web = web(with(&[one, two]));
    for n in 0..20 {
        let missing = web.resolve(&format!("{n}.missing.example")).await;
        assert_eq!(missing.unwrap_err().code(), "dns-not-found");
    }
    assert_eq!(heard_one.lock().unwrap().len(), 40, "the other does it all");
    let (_, heard_two) = start_at(two).await;
    tokio::time::advance(Duration::from_secs(61)).await;
    for n in 20..40 {
        web.resolve(&format!("{n}.missing.example"))
            .await
            .unwrap_err();
    }
    let shares = (
        heard_one.lock().unwrap().len() - 40,
        heard_two.lock().unwrap().len(),
    );
    assert_eq!(shares, (20, 20));
}

/// Looked up as a link is found, known when the page is asked for.
#[tokio::test]
async fn a_prefetched_name_is_asked_once() {
    let (server, heard) = start().await;
    let web = web(with(&[server]));
    for _ in 0..100 {
        web.prefetch_dns("both.example");
    }
    assert_eq!(
        web.resolve("both.example").await.unwrap().addresses.len(),
        3
    );
    web.prefetch_dns("both.example");
    assert_eq!(heard.lock().unwrap().len(), 2, "A and AAAA");
}

/// All servers away: names are down until one is back.
#[tokio::test(start_paused = true)]
async fn the_crawl_waits_for_servers_to_come_back() {
    let gone = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = gone.local_addr().unwrap();
    drop(gone);
    let web = web(with(&[address]));
    let mut watch = web.watch_dns_outage();
    let askers: Vec<_> = (0..30)
        .map(|n| {
            let web = web.clone();
            tokio::spawn(async move { web.resolve(&format!("{n}.missing.example")).await })
        })
        .collect();
    watch.changed().await.unwrap();
    assert!(web.dns_outage_since().is_some());
    let waiting = tokio::spawn({
        let web = web.clone();
        async move { web.resolve("four.example").await }
    });
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert!(!waiting.is_finished());
    start_at(address).await;
    watch.changed().await.unwrap();
    assert_eq!(web.dns_outage_since(), None);
    assert_eq!(waiting.await.unwrap().unwrap().addresses.len(), 2);
    let mut codes: Vec<_> = Vec::new();
    for asker in askers {
        codes.push(asker.await.unwrap().unwrap_err().code());
    }
    let failed = codes
        .iter()
        .filter(|code| **code != "dns-not-found")
        .count();
    assert_eq!(failed, 19, "those before it was noticed: {codes:?}");
}
