//! Tests of the lab's DNS server. The library hickory parses the responses.

#![expect(clippy::unwrap_used, reason = "an error fails the test")]

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use aranha_lab::{Lab, Plan};
use hickory_proto::op::{Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::{Name, RData, RecordType};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UdpSocket};

fn query(id: u16, name: &str, kind: RecordType) -> Vec<u8> {
    let mut message = Message::new(id, MessageType::Query, OpCode::Query);
    message.metadata.recursion_desired = true;
    message.add_query(Query::query(Name::from_ascii(name).unwrap(), kind));
    message.to_vec().unwrap()
}

async fn ask(server: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    socket.send_to(bytes, server).await.unwrap();
    let mut buffer = [0; 1500];
    let length = socket.recv(&mut buffer).await.unwrap();
    buffer[..length].to_vec()
}

async fn ask_over_tcp(server: SocketAddr, queries: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut stream = TcpStream::connect(server).await.unwrap();
    for bytes in queries {
        stream.write_u16(bytes.len() as u16).await.unwrap();
        stream.write_all(bytes).await.unwrap();
    }
    let mut answers = Vec::new();
    for _ in queries {
        let mut answer = vec![0; usize::from(stream.read_u16().await.unwrap())];
        stream.read_exact(&mut answer).await.unwrap();
        answers.push(answer);
    }
    answers
}

fn plan() -> Plan {
    Plan {
        ttl: Duration::from_secs(77),
        ..Plan::small(1)
    }
}

#[tokio::test]
async fn every_name_resolves_to_the_address_of_its_site() {
    let lab = Lab::start(plan()).await.unwrap();
    let mut known = 0;
    for number in 0..12 {
        for name in [
            format!("site{number:03}.lab."),
            format!("WWW.Site{number:03}.Lab."),
        ] {
            let answer = ask(lab.resolver(), &query(9, &name, RecordType::A)).await;
            let message = Message::from_vec(&answer).unwrap();
            assert_eq!(message.metadata.id, 9);
            assert_eq!(
                message.queries[0].name().to_string(),
                name,
                "the response keeps upper and lower case"
            );
            let expected = lab
                .web()
                .address(name.trim_end_matches('.').to_lowercase().as_str());
            let Some(address) = expected else {
                // A bare name has the `www.` name of its site below it, so it exists without records (RFC 8020).
                let code = if name.starts_with("WWW.") {
                    ResponseCode::NXDomain
                } else {
                    ResponseCode::NoError
                };
                assert_eq!(message.metadata.response_code, code);
                assert!(message.answers.is_empty());
                continue;
            };
            known += 1;
            assert_eq!(message.answers.len(), 1);
            assert_eq!(message.answers[0].ttl, 77);
            assert_eq!(message.answers[0].data, RData::A(address.into()));
        }
    }
    assert!(
        (16..24).contains(&known),
        "{known}: most twins exist, but not all"
    );
    assert_eq!(lab.questions().len(), 24);
}

#[tokio::test]
async fn negative_responses_have_a_soa_record_with_a_minimum_ttl() {
    let lab = Lab::start(plan()).await.unwrap();
    let site = lab.seeds()[0].split(['/', ':']).nth(3).unwrap().to_owned();
    let check = async |name: &str, kind, expected| {
        let answer = ask(lab.resolver(), &query(1, name, kind)).await;
        let message = Message::from_vec(&answer).unwrap();
        assert_eq!(message.metadata.response_code, expected, "{name} {kind}");
        assert!(message.answers.is_empty());
        let RData::SOA(soa) = &message.authorities[0].data else {
            panic!("no SOA for {name}");
        };
        assert_eq!(soa.minimum, 77);
    };
    check("nowhere.lab.", RecordType::A, ResponseCode::NXDomain).await;
    check("example.org.", RecordType::A, ResponseCode::NXDomain).await;
    check("site012.lab.", RecordType::A, ResponseCode::NXDomain).await;
    check(&format!("{site}."), RecordType::AAAA, ResponseCode::NoError).await;
    check(".", RecordType::NS, ResponseCode::NXDomain).await;
    let questions = lab.questions();
    assert_eq!(
        (
            questions[0].name.as_str(),
            questions[0].kind,
            questions[0].code
        ),
        ("nowhere.lab", 1, 3)
    );
    assert_eq!((questions[3].kind, questions[3].code), (28, 0));
}

#[tokio::test]
async fn one_tcp_connection_answers_several_questions() {
    let lab = Lab::start(plan()).await.unwrap();
    let queries = [
        query(1, "site001.lab.", RecordType::A),
        query(2, "nowhere.lab.", RecordType::A),
    ];
    let answers = ask_over_tcp(lab.resolver(), &queries).await;
    let ids = answers
        .iter()
        .map(|a| Message::from_vec(a).unwrap().metadata.id);
    assert_eq!(ids.collect::<Vec<_>>(), [1, 2]);
    assert!(lab.questions().iter().all(|q| q.tcp));
}

#[tokio::test]
async fn malformed_queries_do_not_stop_the_server() {
    let lab = Lab::start(plan()).await.unwrap();
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let complete = query(3, "site001.lab.", RecordType::A);
    for length in 0..complete.len() {
        socket
            .send_to(&complete[..length], lab.resolver())
            .await
            .unwrap();
    }
    socket.send_to(&[0xFF; 40], lab.resolver()).await.unwrap();
    let answer = ask(lab.resolver(), &complete).await;
    assert_eq!(Message::from_vec(&answer).unwrap().metadata.id, 3);
}
