//! Tests of the DNS hazards. Queries are sent as raw packets, and the library hickory parses the responses.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use aranha_lab::{Hazard, Lab, Question};
use hickory_proto::op::{Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::{Name, RData, RecordType};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;

use super::{get, with};

const REFUSED: Ipv4Addr = Ipv4Addr::new(127, 166, 0, 0);

fn query(name: &str, kind: RecordType) -> Vec<u8> {
    let mut message = Message::new(7, MessageType::Query, OpCode::Query);
    message.add_query(Query::query(
        Name::from_ascii(format!("{name}.")).unwrap(),
        kind,
    ));
    message.to_vec().unwrap()
}

/// The response packet; `None` if the server sends nothing.
async fn packet(lab: &Lab, name: &str, kind: RecordType) -> Option<Vec<u8>> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    socket
        .send_to(&query(name, kind), lab.resolver())
        .await
        .unwrap();
    let mut buffer = [0; 4096];
    let answer = timeout(Duration::from_millis(500), socket.recv(&mut buffer));
    let length = answer.await.ok()?.unwrap();
    Some(buffer[..length].to_vec())
}

async fn message(lab: &Lab, name: &str, kind: RecordType) -> Message {
    let packet = packet(lab, name, kind).await.unwrap();
    Message::from_vec(&packet).unwrap()
}

/// The IPv4 addresses of a name, each with its TTL.
async fn addresses(lab: &Lab, name: &str) -> Vec<(Ipv4Addr, u32)> {
    let message = message(lab, name, RecordType::A).await;
    let records = message.answers.iter();
    records
        .filter_map(|record| match record.data {
            RData::A(address) => Some((address.0, record.ttl)),
            _ => None,
        })
        .collect()
}

fn is_refused(address: Ipv4Addr) -> bool {
    address.octets()[..2] == REFUSED.octets()[..2]
}

#[tokio::test]
async fn response_codes_are_nxdomain_servfail_and_refused() {
    let code = async |hazard: Hazard| {
        let lab = with(hazard).await;
        message(&lab, hazard.host(), RecordType::A)
            .await
            .metadata
            .response_code
    };
    assert_eq!(code(Hazard::Absent).await, ResponseCode::NXDomain);
    assert_eq!(code(Hazard::ServFail).await, ResponseCode::ServFail);
    let lab = with(Hazard::ServFail).await;
    for _ in 0..3 {
        packet(&lab, "servfail.lab", RecordType::A).await;
    }
    let fourth = message(&lab, "servfail.lab", RecordType::A).await;
    assert_eq!(fourth.metadata.response_code, ResponseCode::Refused);
}

#[tokio::test]
async fn a_mute_name_gets_no_response() {
    let lab = with(Hazard::Mute).await;
    assert_eq!(packet(&lab, "mute.lab", RecordType::A).await, None);
    assert_eq!(lab.questions()[0].code, Question::UNANSWERED);
}

#[tokio::test]
async fn garbled_responses_have_no_usable_address() {
    let lab = with(Hazard::Garbled).await;
    let good = lab.web().address("garbled.lab").unwrap();
    let mut different = std::collections::BTreeSet::new();
    for question in 0..7 {
        let packet = packet(&lab, "garbled.lab", RecordType::A).await.unwrap();
        let believed = Message::from_vec(&packet).is_ok_and(|message| {
            let found = message
                .answers
                .iter()
                .any(|r| r.data == RData::A(good.into()));
            let named = message
                .answers
                .iter()
                .all(|r| r.name.to_string() == "garbled.lab.");
            message.metadata.id == 7 && found && named
        });
        assert!(!believed, "question {question}: {packet:02x?}");
        different.insert(packet);
    }
    assert_eq!(different.len(), 7);
}

#[tokio::test]
async fn a_crooked_response_has_an_address_before_the_fault() {
    let lab = with(Hazard::Crooked).await;
    let packet = packet(&lab, "crooked.lab", RecordType::A).await.unwrap();
    let address = lab.web().address("crooked.lab").unwrap().octets();
    assert!(packet.windows(4).any(|w| w == address));
    assert!(
        Message::from_vec(&packet).is_err(),
        "a strict parser rejects the whole response"
    );
    assert_eq!(get(&lab, "/").await.status, 200);
}

#[tokio::test]
async fn a_shifting_name_is_served_at_both_addresses() {
    let lab = with(Hazard::Shifting).await;
    let first = addresses(&lab, "shifting.lab").await[0].0;
    let second = addresses(&lab, "shifting.lab").await[0].0;
    assert_ne!(first, second);
    for address in [first, second] {
        let address = (IpAddr::V4(address), lab.port()).into();
        let mut client = super::Client::at(address).await;
        assert_eq!(client.get("shifting.lab", "/", "").await.status, 200);
    }
}

#[tokio::test]
async fn alias_chains_end_and_ring_chains_loop() {
    let lab = with(Hazard::Alias).await;
    let chain = message(&lab, "alias.lab", RecordType::A).await.answers;
    assert_eq!(chain.len(), 9);
    assert_eq!(
        chain[8].data,
        RData::A(lab.web().address("alias.lab").unwrap().into())
    );
    for (link, next) in chain.iter().zip(&chain[1..]) {
        let RData::CNAME(to) = &link.data else {
            panic!("no alias")
        };
        assert_eq!(to.0, next.name);
    }
    assert_eq!(
        message(&lab, "step6.alias.lab", RecordType::A)
            .await
            .answers
            .len(),
        3
    );
    let lab = with(Hazard::Ring).await;
    let mut name = "ring.lab".to_owned();
    for _ in 0..3 {
        let answer = message(&lab, &name, RecordType::A).await.answers;
        let RData::CNAME(to) = &answer[0].data else {
            panic!("no alias")
        };
        name = to.0.to_string().trim_end_matches('.').to_owned();
    }
    assert_eq!(name, "ring.lab");
}

#[tokio::test]
async fn fleeting_names_have_a_ttl_of_zero() {
    let lab = with(Hazard::Fleeting).await;
    assert_eq!(addresses(&lab, "fleeting.lab").await[0].1, 0);
    assert_eq!(addresses(&lab, "fleeting.lab").await.len(), 1);
}

#[tokio::test]
async fn truncated_responses_are_complete_over_tcp() {
    let lab = with(Hazard::Truncated).await;
    let cut = message(&lab, "truncated.lab", RecordType::A).await;
    assert!(cut.metadata.truncation && cut.answers.is_empty());
    let mut stream = TcpStream::connect(lab.resolver()).await.unwrap();
    let bytes = query("truncated.lab", RecordType::A);
    stream.write_u16(bytes.len() as u16).await.unwrap();
    stream.write_all(&bytes).await.unwrap();
    let mut answer = vec![0; usize::from(stream.read_u16().await.unwrap())];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(Message::from_vec(&answer).unwrap().answers.len(), 1);
}

#[tokio::test]
async fn insider_rebind_and_mixed_resolve_to_refused_addresses() {
    let lab = with(Hazard::Insider).await;
    assert!(is_refused(addresses(&lab, "insider.lab").await[0].0));
    let six = message(&lab, "insider.lab", RecordType::AAAA).await.answers;
    let RData::AAAA(address) = six[0].data else {
        panic!("no address")
    };
    assert!(is_refused(address.0.to_ipv4_mapped().unwrap()));

    let lab = with(Hazard::Rebind).await;
    let own = lab.web().address("rebind.lab").unwrap();
    assert_eq!(addresses(&lab, "rebind.lab").await, [(own, 0)]);
    for _ in 0..3 {
        assert!(is_refused(addresses(&lab, "rebind.lab").await[0].0));
    }
    lab.clear();
    assert_eq!(
        addresses(&lab, "rebind.lab").await[0].0,
        own,
        "Lab::clear resets the counter"
    );

    let lab = with(Hazard::Mixed).await;
    let both = addresses(&lab, "mixed.lab").await;
    assert!(is_refused(both[0].0) && !is_refused(both[1].0));
}

#[tokio::test]
async fn every_name_under_the_wildcard_has_its_address() {
    let lab = with(Hazard::Wildcard).await;
    let own = lab.web().address("wildcard.lab").unwrap();
    for name in [
        "wildcard.lab",
        "absurd-93174.wildcard.lab",
        "x.y.z.wildcard.lab",
    ] {
        assert_eq!(addresses(&lab, name).await[0].0, own, "{name}");
    }
}

#[tokio::test]
async fn the_descent_adds_one_alias_per_query() {
    let lab = with(Hazard::Descent).await;
    let mut name = "descent.lab".to_owned();
    for step in 1..=20 {
        let answer = message(&lab, &name, RecordType::A).await;
        assert_eq!(answer.answers.len(), 1, "one CNAME record and no address");
        let RData::CNAME(next) = &answer.answers[0].data else {
            panic!("{answer:?}");
        };
        name = next.0.to_string().trim_end_matches('.').to_owned();
        assert_eq!(name, format!("down{step}.descent.lab"));
    }
}

#[tokio::test]
async fn tunnel_addresses_embed_a_refused_address() {
    let lab = with(Hazard::Tunnel).await;
    let none = message(&lab, "tunnel.lab", RecordType::A).await;
    assert!(none.answers.is_empty() && none.metadata.response_code == ResponseCode::NoError);
    let answer = message(&lab, "tunnel.lab", RecordType::AAAA).await;
    let found: Vec<String> = answer
        .answers
        .iter()
        .map(|record| record.data.to_string())
        .collect();
    assert_eq!(found.len(), 8);
    for form in [
        "::ffff:127.166.0.5",
        "::1",
        "64:ff9b::7fa6:5",
        "2002:7fa6:5::1",
        "fe80::1",
    ] {
        assert!(found.contains(&form.to_owned()), "{form} in {found:?}");
    }
}

#[tokio::test]
async fn tenants_share_one_address_and_respond_slowly() {
    let lab = with(Hazard::Tenants).await;
    let hosts = super::links(&lab, "/").await;
    assert_eq!(hosts.len(), 24);
    let home = addresses(&lab, "tenants.lab").await;
    assert_eq!(addresses(&lab, "h23.tenants.lab").await, home);
    for name in ["h24.tenants.lab", "absurd.tenants.lab"] {
        let answer = message(&lab, name, RecordType::A).await;
        assert_eq!(
            answer.metadata.response_code,
            ResponseCode::NXDomain,
            "{name}"
        );
    }
    let started = std::time::Instant::now();
    let mut client = super::Client::to(&lab, "h5.tenants.lab").await;
    let page = client.get("h5.tenants.lab", "/", "").await.text();
    assert!(started.elapsed() >= Duration::from_millis(400));
    let mut client = super::Client::to(&lab, "h6.tenants.lab").await;
    assert_ne!(client.get("h6.tenants.lab", "/", "").await.text(), page);
}
