//! What clients send, and what they make of the answers: over a socket, since a mock would hide the bytes.

use std::io::{Read, Write};
use std::net::TcpListener;

use futures::StreamExt;

use super::client::{bodies, security};

/// Answers one request so, and gives what it was, with what the client made of the answer.
fn exchange<T>(answer: &str, send: impl AsyncFnOnce(String) -> T) -> (String, T) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = format!("HTTP/1.1 {answer}");
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            let read = stream.read(&mut buffer).unwrap();
            request.extend_from_slice(&buffer[..read]);
            let text = String::from_utf8_lossy(&request).to_lowercase();
            let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
            let length = head
                .lines()
                .find_map(|it| it.strip_prefix("content-length: "));
            let is_whole = match length {
                Some(length) => body.len() >= length.parse().unwrap(),
                None => !head.contains("chunked") || body.ends_with("0\r\n\r\n"),
            };
            if read == 0 || (!head.is_empty() && is_whole) {
                break;
            }
        }
        stream.write_all(answer.as_bytes()).unwrap();
        String::from_utf8(request).unwrap()
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let made = runtime.block_on(send(url));
    (server.join().unwrap(), made)
}

const NONE: &str = "204 No Content\r\n\r\n";

#[test]
fn bodies_go_out_with_their_media_types() {
    let (request, _) = exchange(NONE, async |url| {
        let client = bodies::Client::new(&url);
        client
            .add_picture()
            .body("a picture")
            .send()
            .await
            .map(drop)
    });
    assert!(request.contains("content-type: image/png\r\n"), "{request}");
    assert!(request.ends_with("\r\n\r\na picture"), "{request}");
    let answer = "200 OK\r\ncontent-length: 4\r\n\r\nnull";
    let (request, null) = exchange(answer, async |url| {
        let client = bodies::Client::new(&url);
        let answer = client.put_nothing().body(None).send().await.unwrap();
        answer.into_inner()
    });
    assert!(
        request.ends_with("\r\n\r\nnull") && null.is_none(),
        "{request}"
    );
    let (request, null) = exchange(answer, async |url| {
        let client = bodies::Client::new(&url);
        let answer = client.put_maybe().body(None).send().await.unwrap();
        answer.into_inner()
    });
    assert!(
        request.ends_with("\r\n\r\nnull") && null.is_none(),
        "{request}"
    );
    let (request, _) = exchange("200 OK\r\n\r\n{}", async |url| {
        let form = reqwest::multipart::Form::new().text("name", "value");
        let client = bodies::Client::new(&url);
        client.upload().body(form).send().await.map(drop)
    });
    let media_type = "content-type: multipart/form-data; boundary=";
    assert!(request.contains(media_type), "{request}");
    assert!(request.contains("name=\"name\""), "{request}");
}

#[test]
fn json_goes_out_and_is_asked_for_by_the_name_that_the_document_has() {
    let reason = || bodies::types::Reason {
        why: "old".to_owned(),
    };
    let answer = "201 Created\r\ncontent-length: 13\r\n\r\n{\"why\":\"old\"}";
    let (request, _) = exchange(answer, async |url| {
        let client = bodies::Client::new(&url);
        client.import_note().body(reason()).send().await.unwrap();
    });
    let media_type = "content-type: application/vnd.notes.v2+json\r\n";
    assert!(request.contains(media_type), "{request}");
    assert!(request.ends_with("{\"why\":\"old\"}"), "{request}");
    let answer = "200 OK\r\ncontent-length: 13\r\n\r\n{\"why\":\"old\"}";
    let (request, note) = exchange(answer, async |url| {
        let client = bodies::Client::new(&url);
        let answer = client.replace_note().body(reason()).send().await.unwrap();
        answer.into_inner()
    });
    for header in [
        "content-type: application/merge-patch+json\r\n",
        "accept: application/hal+json\r\n",
    ] {
        assert!(request.contains(header), "{request}");
    }
    assert_eq!(request.matches("content-type").count(), 1, "{request}");
    assert_eq!(note, reason());
}

#[test]
fn a_body_that_may_be_left_out_is_sent_when_it_is_given() {
    let (request, _) = exchange(NONE, async |url| {
        let client = bodies::Client::new(&url);
        client.delete_file().name("a").send().await.map(drop)
    });
    assert!(!request.contains("content-type"), "{request}");
    assert!(request.ends_with("\r\n\r\n"), "{request}");
    let (request, _) = exchange(NONE, async |url| {
        let client = bodies::Client::new(&url);
        let why = "old".to_owned();
        let body = bodies::types::Reason { why };
        client
            .delete_file()
            .name("a")
            .body(body)
            .send()
            .await
            .map(drop)
    });
    assert!(request.ends_with("{\"why\":\"old\"}"), "{request}");
    let (request, _) = exchange(NONE, async |url| {
        let client = bodies::Client::new(&url);
        client.fill_in_a_part_of_the_form().send().await.map(drop)
    });
    assert!(request.ends_with("\r\n\r\n"), "{request}");
}

#[test]
fn a_form_has_lists_by_repetition_and_objects_as_json() {
    let (request, _) = exchange("200 OK\r\n\r\n{}", async |url| {
        let client = bodies::Client::new(&url);
        let reason = r#"{"why":"a b"}"#;
        let text = format!(
            r#"{{"name":"a&b","count":3,"urgent":true,"tags":["x","y z"],"sizes":[[1],[]],"reason":{reason},"any":"t"}}"#
        );
        let form: bodies::types::Form = serde_json::from_str(&text).unwrap();
        client.send_form().body(form).send().await.map(drop)
    });
    let body = request.rsplit("\r\n\r\n").next().unwrap();
    assert_eq!(
        body,
        "any=%22t%22&count=3&name=a%26b&reason=%7B%22why%22%3A%22a+b%22%7D&sizes=%5B%5B1%5D%2C%5B%5D%5D\
         &tags=x&tags=y+z&urgent=true"
    );
    assert!(
        request.contains("content-type: application/x-www-form-urlencoded\r\n"),
        "{request}"
    );
}

#[test]
fn an_answer_of_bytes_is_a_stream() {
    let answer = "200 OK\r\ncontent-length: 3\r\n\r\nPNG";
    let (_, bytes) = exchange(answer, async |url| {
        let client = bodies::Client::new(&url);
        let answer = client.get_picture().send().await.unwrap();
        let pieces = answer.into_inner().into_inner();
        let pieces: Vec<_> = pieces.map(Result::unwrap).collect().await;
        pieces.concat()
    });
    assert_eq!(bytes, b"PNG");
}

#[test]
fn an_error_has_the_body_that_its_status_says() {
    use security::types::{Closed, ClosedOrNothingOrStuck as Body, Stuck};
    let closed = Closed {
        seen: "you".to_owned(),
    };
    for (answer, status, expected) in [
        (
            "400 Bad\r\n\r\n{\"seen\":\"you\"}",
            400,
            Body::Closed(closed),
        ),
        ("404 None\r\ncontent-length: 0\r\n\r\n", 404, Body::Nothing),
        (
            "409 Stuck\r\n\r\n{\"force\":1}",
            409,
            Body::Stuck(Stuck { force: 1 }),
        ),
        (
            "418 Tea\r\n\r\n{\"force\":2}",
            418,
            Body::Stuck(Stuck { force: 2 }),
        ),
        (
            "500 Broken\r\n\r\n{\"force\":3}",
            500,
            Body::Stuck(Stuck { force: 3 }),
        ),
    ] {
        let (_, outcome) = exchange(answer, async |url| {
            let client = security::Client::new(&url);
            client.fail().status(1).send().await
        });
        match outcome {
            Err(security::Error::ErrorResponse(error)) => {
                assert_eq!(error.status().as_u16(), status);
                assert_eq!(error.into_inner(), expected);
            }
            other => panic!("{other:?}"),
        }
    }
    let (_, outcome) = exchange("202 Soon\r\n\r\n", async |url| {
        let client = security::Client::new(&url);
        client.fail().status(1).send().await
    });
    assert_eq!(outcome.unwrap().status().as_u16(), 202);
}

#[test]
fn an_answer_to_head_is_its_headers() {
    let answer = "200 OK\r\nx-pieces: 2\r\n\r\n";
    let (request, pieces) = exchange(answer, async |url| {
        let client = bodies::Client::new(&url);
        let answer = client.find_file().name("a").send().await.unwrap();
        answer.headers()["x-pieces"].clone()
    });
    assert!(request.starts_with("HEAD /files/a "), "{request}");
    assert_eq!(pieces, "2");
}

#[test]
fn what_a_path_cannot_say_is_not_sent() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let client = bodies::Client::new("http://127.0.0.1:1");
    for name in ["", ".", ".."] {
        let outcome = runtime.block_on(client.get_file().name(name).send());
        match outcome.map(drop) {
            Err(bodies::Error::InvalidRequest(message)) => assert_eq!(
                message,
                format!("no path can say {name:?}, which is the value of name")
            ),
            other => panic!("{other:?}"),
        }
    }
    for (name, path) in [
        ("...", "/files/..."),
        ("%2e", "/files/%252e"),
        ("a/..", "/files/a%2F.."),
    ] {
        let (request, _) = exchange("200 OK\r\n\r\n", async |url| {
            let client = bodies::Client::new(&url);
            client.get_file().name(name).send().await.map(drop)
        });
        assert!(request.starts_with(&format!("GET {path} ")), "{request}");
    }
}

#[test]
fn a_success_has_the_body_that_its_status_says() {
    use security::types::{Closed, Stuck, StuckOrClosedOrNothing as Body};
    let seen = || "you".to_owned();
    for (answer, expected) in [
        (
            "200 OK\r\n\r\n{\"force\":1}",
            Body::Stuck(Stuck { force: 1 }),
        ),
        (
            "201 Made\r\n\r\n{\"seen\":\"you\"}",
            Body::Closed(Closed { seen: seen() }),
        ),
        (
            "202 Soon\r\n\r\n{\"seen\":\"you\"}",
            Body::Closed(Closed { seen: seen() }),
        ),
        (NONE, Body::Nothing),
    ] {
        let (_, body) = exchange(answer, async |url| {
            let client = security::Client::new(&url);
            let step = client.take_step().body(Stuck { force: 1 });
            step.send().await.unwrap().into_inner()
        });
        assert_eq!(body, expected);
    }
    let (_, outcome) = exchange("200 OK\r\n\r\n{\"seen\":\"you\"}", async |url| {
        let client = security::Client::new(&url);
        client.take_step().body(Stuck { force: 1 }).send().await
    });
    assert!(outcome.is_err());
}

#[test]
fn a_list_in_a_query_has_its_name_before_each_item() {
    let (request, _) = exchange(NONE, async |url| {
        let client = security::Client::new(&url);
        client
            .by_everybody()
            .floors(Vec::new())
            .size(vec![1, 2])
            .send()
            .await
            .map(drop)
    });
    assert!(
        request.starts_with("GET /public?size=1&size=2 "),
        "{request}"
    );
}
