//! Bodies of media types other than JSON, and of responses that have none.

use openapi_dropshot_roundtrip::bodies::LARGE;
use openapi_dropshot_runtime::MAX_BYTES;

use crate::connection::{Server, head};

const FORM: &str = "Content-Type: application/x-www-form-urlencoded";
const TEXT: &str = "Content-Type: text/plain; charset=utf-8";
const BYTES: &str = "Content-Type: application/octet-stream";

#[tokio::test]
async fn bytes_have_the_media_type_of_the_document_or_none() {
    let server = Server::start();
    for (request, headers, status) in [
        ("PUT /files/a", &[][..], 204),
        ("PUT /files/a", &[BYTES], 204),
        ("PUT /files/a", &[TEXT], 415),
        ("PUT /files/a", &[BYTES, "Content-Encoding: gzip"], 415),
        ("POST /pictures", &["Content-Type: image/png"], 201),
        ("POST /pictures", &[BYTES], 415),
    ] {
        let answer = server.send(request, headers, "\u{fffd}not JSON").await;
        assert_eq!(answer.status, status, "{request} {headers:?}");
    }
}

#[tokio::test]
async fn json_is_taken_and_answered_by_the_name_that_the_document_has() {
    let server = Server::start();
    const NOTE: &str = "Content-Type: application/vnd.notes.v2+json";
    const PATCH: &str = "Content-Type: application/merge-patch+json; charset=utf-8";
    const JSON: &str = "Content-Type: application/json";
    let (why, later) = (r#"{"why":"new"}"#, r#"{"why":"later"}"#);
    for (request, headers, body, status, media_type) in [
        (
            "POST /notes:import",
            &[NOTE][..],
            why,
            201,
            Some("application/vnd.notes.v2+json"),
        ),
        (
            "POST /notes:import",
            &[],
            why,
            201,
            Some("application/vnd.notes.v2+json"),
        ),
        ("POST /notes:import", &[NOTE], later, 202, None),
        (
            "POST /notes:import",
            &[NOTE],
            "{}",
            400,
            Some("application/json"),
        ),
        (
            "POST /notes:import",
            &[JSON],
            why,
            415,
            Some("application/json"),
        ),
        (
            "PUT /notes:import",
            &[PATCH],
            why,
            200,
            Some("application/hal+json"),
        ),
        (
            "PUT /notes:import",
            &[JSON],
            why,
            415,
            Some("application/problem+json"),
        ),
        (
            "PUT /notes:import",
            &[],
            "",
            404,
            Some("application/problem+json"),
        ),
    ] {
        let answer = server.send(request, headers, body).await;
        assert_eq!(answer.status, status, "{request} {headers:?} {body}");
        assert_eq!(
            answer.header("content-type"),
            media_type,
            "{request} {body}"
        );
    }
}

#[tokio::test]
async fn bytes_are_bounded_whole_and_as_they_come() {
    let server = Server::start();
    for (name, length, status) in [
        ("small", MAX_BYTES, 204),
        ("small", MAX_BYTES + 1, 413),
        ("large", LARGE, 204),
        ("large", LARGE + 1, 413),
    ] {
        let request = format!("PUT /files/{name}");
        let answer = server.send(&request, &[], &"x".repeat(length)).await;
        assert_eq!(answer.status, status, "{name} {length}");
    }
}

#[tokio::test]
async fn the_rest_of_a_request_is_checked_before_its_bytes_are_read() {
    let server = Server::start();
    let mut connection = server.connect().await;
    let name = "n".repeat(21);
    let request = format!("PUT /files/{name}");
    connection.write(head(&request, &[], 100)).await;
    let answer = connection.answer().await;
    assert_eq!(answer.status, 400);
    assert_eq!(answer.json()["message"], "name maxLength");
}

#[tokio::test]
async fn a_form_is_read_as_a_query_is_and_checked() {
    let server = Server::start();
    for (form, expected) in [
        (
            "name=a+b&count=3",
            Ok(r#"{"name":"a b","count":3,"tags":[]}"#),
        ),
        (
            "count=%33&urgent=true&name=%C3%A4",
            Ok(r#"{"name":"ä","count":3,"urgent":true,"tags":[]}"#),
        ),
        (
            "tags=a&name=a&count=1&tags=b+c&sizes=[[1],[]]&reason=%7B%22why%22%3A%22w%22%7D&any=null",
            Ok(
                r#"{"name":"a","count":1,"tags":["a","b c"],"sizes":[[1],[]],"reason":{"why":"w"},"any":null}"#,
            ),
        ),
        (
            "name=a&count=1&tags=&any=%22b%22",
            Ok(r#"{"name":"a","count":1,"tags":[""],"any":"b"}"#),
        ),
        (
            "name=a&count=1&sizes=[[1]]&sizes=[]",
            Err("/sizes repeated"),
        ),
        ("name=a&count=1&sizes=1&reason=x", Err("/reason format")),
        ("name=a&count=1&sizes=1", Err("/sizes type")),
        ("name=a&count=1&sizes=[[%22a%22]]", Err("/sizes/0/0 type")),
        ("name=a&count=1&reason={}", Err("/reason/why required")),
        ("name=a&count=1&any=b", Err("/any format")),
        ("name=a", Err("/count required")),
        ("name=a&count=x", Err("/count type")),
        ("name=a&count=2147483648", Err("/count maximum")),
        ("name=abcdef&count=1", Err("/name maxLength")),
        ("name=a&name=b&count=1", Err("/name repeated")),
        ("name=%ff&count=1", Err("/name format")),
        ("name=a&count=1&more=1", Err("/more additionalProperties")),
        ("name=a&count=1&urgent=yes", Err("/urgent type")),
        ("", Err("/name required, /count required")),
    ] {
        let answer = server.send("POST /forms", &[FORM], form).await;
        match expected {
            Ok(body) => assert_eq!((answer.status, &*answer.body), (200, body), "{form}"),
            Err(message) => {
                assert_eq!(answer.status, 400, "{form}");
                assert_eq!(answer.json()["message"], message, "{form}");
            }
        }
    }
    let answer = server.send("POST /forms", &[TEXT], "name=a&count=3").await;
    assert_eq!(answer.status, 415);
}

#[tokio::test]
async fn a_text_is_one_string_that_passes_its_schema() {
    let server = Server::start();
    for (text, status) in [("hello", 200), ("h", 400), ("hello!", 400), ("äöüßé", 200)] {
        let answer = server.send("POST /notes", &[TEXT], text).await;
        assert_eq!(answer.status, status, "{text}");
        if status == 200 {
            assert_eq!(answer.body, text);
            let media_type = answer.header("content-type");
            assert_eq!(media_type, Some("text/plain; charset=utf-8"));
        }
    }
    let mut connection = server.connect().await;
    let bytes = [head("POST /notes", &[TEXT], 2).as_bytes(), b"\xff\xff"].concat();
    connection.write(bytes).await;
    assert_eq!(connection.answer().await.json()["message"], " format");
}

#[tokio::test]
async fn the_parts_of_a_form_reach_the_handler() {
    let server = Server::start();
    let part = |name: &str| {
        format!("--x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\nvalue\r\n")
    };
    let body = part("one") + &part("two") + "--x--\r\n";
    let media_type = "Content-Type: multipart/form-data; boundary=x";
    let answer = server.send("POST /uploads", &[media_type], &body).await;
    assert_eq!(answer.json()["why"], "one,two");
    for other in ["Content-Type: multipart/form-data", BYTES] {
        let answer = server.send("POST /uploads", &[other], &body).await;
        assert_eq!(answer.status, 415, "{other}");
    }
}

#[tokio::test]
async fn a_body_may_be_left_out_where_the_document_says_so() {
    let server = Server::start();
    let mut all = Vec::new();
    for body in ["", r#"{"why":"old"}"#, "{}", "null"] {
        all.push(server.send("DELETE /files/a", &[], body).await.status);
    }
    for body in ["", "name=a&count=1", "name=a"] {
        all.push(server.send("PUT /forms", &[FORM], body).await.status);
    }
    // The handlers return 404 if there is none.
    assert_eq!(all, [404, 204, 400, 400, 404, 204, 400]);
}

#[tokio::test]
async fn a_body_is_null_where_the_document_says_so() {
    let server = Server::start();
    // Nullable beside the reference to its component, and in the component.
    for path in ["PUT /nothing", "PUT /perhaps"] {
        for body in ["null", r#"{"why":"old"}"#] {
            let answer = server.send(path, &[], body).await;
            assert_eq!((answer.status, &*answer.body), (200, body), "{path}");
        }
        for body in ["", "{}", "[]"] {
            let answer = server.send(path, &[], body).await;
            assert_eq!(answer.status, 400, "{path} {body}");
        }
    }
}

#[tokio::test]
async fn an_answer_of_bytes_has_its_media_type_and_may_come_in_pieces() {
    let server = Server::start();
    let picture = server.send("GET /pictures", &[], "").await;
    assert_eq!(picture.header("content-type"), Some("image/png"));
    let mut connection = server.connect().await;
    connection
        .write(head("GET /files/first", &["Connection: close"], 0))
        .await;
    let rest = connection.rest().await;
    assert!(rest.contains("content-type: text/x-file"), "{rest}");
    assert!(rest.contains("file ") && rest.contains("first"), "{rest}");
}

#[tokio::test]
async fn a_redirect_is_a_success() {
    let server = Server::start();
    let answer = server.send("GET /", &[], "").await;
    assert_eq!(
        (answer.status, answer.header("location")),
        (302, Some("/files/first"))
    );
    assert_eq!(server.send("GET //", &[], "").await.status, 404);
    assert_eq!(server.errors(), Vec::<String>::new());
}

#[tokio::test]
async fn a_handler_says_the_status_where_the_document_does_not() {
    let server = Server::start();
    let answer = server.send("GET /anything", &[], "").await;
    assert_eq!((answer.status, &*answer.body), (418, "short and stout"));
    assert_eq!(server.errors(), Vec::<String>::new());
}

const UPGRADE: [&str; 4] = [
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

#[tokio::test]
async fn a_connection_becomes_a_websocket_once_the_request_is_checked() {
    let server = Server::start();
    let mut connection = server.connect().await;
    connection
        .write(head("GET /channel?word=hi", &UPGRADE, 0))
        .await;
    let answer = connection.answer().await;
    assert_eq!(answer.status, 101);
    // As in RFC 6455, section 1.3.
    let accepted = answer.header("sec-websocket-accept");
    assert_eq!(accepted, Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    connection.write("back").await;
    assert_eq!(connection.rest().await, "hiback");
    for (request, headers, message) in [
        ("GET /channel", &UPGRADE[..], "word required"),
        ("GET /channel?word=hi", &UPGRADE[1..], " websocket"),
        ("GET /channel?word=hi", &[], " websocket"),
    ] {
        let answer = server.send(request, headers, "").await;
        assert_eq!(answer.status, 400, "{request}");
        assert_eq!(answer.json()["message"], message, "{request}");
    }
    assert_eq!(server.errors(), Vec::<String>::new());
}
