//! A system that provides no more memory. Acknowledged changes survive, whether the process goes on or ends.

use std::io::Write as _;
use std::process::Command;

use serde_json::{Value, json};

use crate::place::Place;
use crate::server::{Server, read_all};

fn serve(place: &Place) -> Server {
    let line = ["serve", "--listen", "127.0.0.1:0", "--rate-limit", "off"];
    Server::start(&mut place.command(line))
}

/// The status and the body of the answer, if one came.
fn ask(server: &Server, method: &str, path: &str, key: &str, body: &str) -> Option<(u16, String)> {
    let mut stream = server.connect();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    // If the process has ended, nothing is read.
    let _ = stream.write_all(request.as_bytes());
    let answer = read_all(&mut stream);
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some((head[9..12].parse().unwrap(), body.to_owned()))
}

/// From here on, the system refuses every further mapping.
fn give_no_more_memory(server: &Server) {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let size = status.lines().find_map(|it| it.strip_prefix("VmSize:"));
    let kilobytes = size.unwrap().trim().trim_end_matches(" kB");
    let bytes = 1024 * kilobytes.parse::<u64>().unwrap();
    let limit = format!("--as={bytes}:{bytes}");
    let limited = Command::new("prlimit")
        .args(["--pid", &server.id(), &limit])
        .status();
    assert!(limited.unwrap().success());
}

#[test]
fn nothing_acknowledged_is_lost_when_the_system_gives_no_more_memory() {
    let place = Place::new();
    let mut server = serve(&place);
    let team = place.make(&["team", "create", "--name", "Acme"]);
    let create = ["api-key", "create", "--team", &team, "--mode", "live"];
    let key = place.json(&[&create[..], &["--scope", "read-write"]].concat());
    let key = key["key"].as_str().unwrap();
    let description = "x".repeat(1_000);
    let product =
        json!({ "name": "A", "unitPrice": 1, "currency": "EUR", "description": description });
    let product = product.to_string();
    let mut made = Vec::new();
    for number in 0..400 {
        if number == 10 {
            give_no_more_memory(&server);
        }
        let Some((status, body)) = ask(&server, "POST", "/api/v1/products", key, &product) else {
            break;
        };
        assert!([201, 500, 503].contains(&status), "{status}: {body}");
        if status == 201 {
            let body: Value = serde_json::from_str(&body).unwrap();
            made.push(body["data"]["id"].as_str().unwrap().to_owned());
        }
        let page = ask(&server, "GET", "/api/v1/products?limit=100", key, "");
        if page.is_none() {
            break;
        }
    }
    assert!(made.len() >= 10, "{made:?}");
    println!("{} acknowledged", made.len());
    server.signal("KILL");
    server.wait();

    let again = serve(&place);
    for id in &made {
        let answer = ask(&again, "GET", &format!("/api/v1/products/{id}"), key, "");
        assert_eq!(answer.map(|it| it.0), Some(200), "{id} is lost");
    }
}
