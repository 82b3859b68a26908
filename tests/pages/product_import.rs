//! `/teams/{team}/products/import` and `export.csv`.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use test_support::service::Service;

use crate::browser::{Browser, Shown, form, server, upload};
use crate::products::add;
use crate::team::{PASSWORD, person, signed_in, team};

const HEADER: &str = "sku,name,unitPrice,currency\n";

fn path(team: &str, rest: &str) -> String {
    format!("/teams/{team}/products{rest}")
}

fn plan_path(team: &str, mode: &str, id: &str) -> String {
    format!("{}?mode={mode}&id={id}", path(team, "/import/plan"))
}

/// The id of the plan that an answer leads to.
fn plan_id(answer: &Shown) -> String {
    let location = answer.location();
    let (_, id) = location.split_once("&id=").expect("it leads to a plan");
    id.to_owned()
}

fn connect(service: &Service) -> TcpStream {
    let address = service.caller.base_url().strip_prefix("http://");
    TcpStream::connect(address.expect("it is in clear")).expect("it listens")
}

/// The number that a plan shows for a kind of lines.
fn count(plan: &Shown, kind: &str) -> u32 {
    let text = plan.text();
    let (_, rest) = text
        .split_once(&format!("<dt>{kind}</dt><dd>"))
        .expect(kind);
    let number = rest.split('<').next().expect(kind);
    number.parse().expect(kind)
}

#[tokio::test]
async fn a_file_is_shown_as_a_plan_and_imported_once() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut browser = signed_in(&service, &team, "member").await;
    let import = path(&team, "/import?mode=test");
    browser.get(&import).await.expect(200, "unitOfMeasure");
    let csv = format!("{HEADER}A,<i>Lamp</i>,1.50,EUR\nB,Chair,x,EUR\nC,Desk,2,EUR\n");
    let answer = browser.upload(&import, &[], csv.as_bytes()).await;
    assert_eq!(answer.status(), 303, "{answer:?}");
    let plan = browser.get(&answer.location()).await;
    plan.expect(200, "Import 2 products")
        .expect(200, "unitPrice must be a number, such as 19.90")
        .expect(200, "1.50 EUR");
    assert!(!plan.text().contains("<i>"), "{plan:?}");
    let counts = ["New", "Changed", "Unchanged", "Refused"].map(|kind| count(&plan, kind));
    assert_eq!(counts, [2, 0, 0, 1]);
    let list = browser.get(&format!("{}?mode=test", path(&team, ""))).await;
    list.expect(200, "There is no product yet");

    let id = plan_id(&answer);
    let other = browser.post(&plan_path(&team, "live", &id), &[]).await;
    other.expect(422, "Choose the file again");
    let carry_out = plan_path(&team, "test", &id);
    let page = browser.submit(&carry_out, &[]).await;
    page.expect(200, "The products are imported")
        .expect(200, "Desk");
    let again = browser.post(&carry_out, &[]).await;
    again.expect(422, "This plan was carried out");

    let csv = format!("{HEADER}A,Lamp,1.50,EUR\nB,Chair,3,EUR\nC,Desk,2.0,EUR\n");
    let answer = browser.upload(&import, &[], csv.as_bytes()).await;
    let plan = browser.get(&answer.location()).await;
    let counts = ["New", "Changed", "Unchanged", "Refused"].map(|kind| count(&plan, kind));
    assert_eq!(counts, [1, 1, 1, 0], "{plan:?}");
    plan.expect(200, "<td class=\"wrap\">name</td>");
}

#[tokio::test]
async fn a_file_that_is_none_is_refused_with_the_reason() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut browser = signed_in(&service, &team, "member").await;
    let import = path(&team, "/import");
    for (file, why) in [
        (&b""[..], "Choose a file first"),
        (b"sku;name\nA;B\n", "cells are separated by commas"),
        (
            b"sku,colour\nA,red\n",
            "Line 1 has an unknown column, &#34;colour&#34;",
        ),
        (b"sku,name,sku\n", "Line 1 has the column sku twice"),
        (b"\xff\xfe,\n", "Line 1 is not text in UTF-8"),
        (
            b"sku,name\nA,\"B\nC,D\n",
            "Line 2 has a cell whose closing quote is missing",
        ),
    ] {
        let page = browser.upload(&import, &[], file).await;
        page.expect(422, why);
    }
    let lines = "A,B,1,EUR\n".repeat(10_001);
    let many = format!("{HEADER}{lines}");
    let page = browser.upload(&import, &[], many.as_bytes()).await;
    page.expect(422, "`invoicing product import` takes files of any size");
    let large = vec![b'x'; 5 * 1024 * 1024 + 100_000];
    assert_eq!(browser.upload(&import, &[], &large).await.status(), 413);

    let own =
        |request: test_support::caller::Request| request.header("sec-fetch-site", "same-origin");
    let plain = browser.send(own(form(&import, &[]))).await;
    assert_eq!(plain.status(), 415, "{plain:?}");
    let from_elsewhere = browser.send(upload(&import, &[], HEADER.as_bytes())).await;
    assert_eq!(from_elsewhere.status(), 403, "{from_elsewhere:?}");
    let mut viewer = signed_in(&service, &team, "viewer").await;
    let refused = viewer.upload(&import, &[], HEADER.as_bytes()).await;
    assert_eq!(refused.status(), 403, "{refused:?}");
    person(&service, "stranger@example.com").await;
    let mut stranger = Browser::new(&service);
    stranger.sign_in("stranger@example.com", PASSWORD).await;
    let refused = stranger.upload(&import, &[], HEADER.as_bytes()).await;
    assert_eq!(refused.status(), 404, "{refused:?}");
}

/// W18: everyone else's changes wait for the duration of one change.
#[tokio::test]
async fn a_file_about_products_with_too_much_text_is_refused() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut browser = signed_in(&service, &team, "member").await;
    let import = path(&team, "/import");
    let description = "\u{1d11e}".repeat(2_000);
    let mut skus = String::from("sku,name\n");
    for part in 0..5 {
        let mut file = String::from("sku,name,unitPrice,currency,description\n");
        for line in 0..500 {
            file += &format!("S{part}-{line},Lamp,1,EUR,{description}\n");
            skus += &format!("S{part}-{line},Torch\n");
        }
        let planned = browser.upload(&import, &[], file.as_bytes()).await;
        let plan = plan_path(&team, "live", &plan_id(&planned));
        let done = browser.post(&plan, &[]).await;
        assert_eq!(done.status(), 303, "part {part}");
    }
    let refused = browser.upload(&import, &[], skus.as_bytes()).await;
    refused.expect(422, "more than 16 MB of text");
    let half = skus.lines().take(1_000).collect::<Vec<_>>().join("\n");
    let planned = browser.upload(&import, &[], half.as_bytes()).await;
    assert_eq!(planned.status(), 303, "{planned:?}");
}

/// A file is not received without a sign-in: only signed-in users may hold that much memory.
#[tokio::test]
async fn nobody_sends_a_file_without_being_signed_in() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let import = path(&team, "/import?mode=test");
    let nobody = Browser::new(&service).upload(&import, &[], b"").await;
    assert_eq!(nobody.status(), 303, "{nobody:?}");
    let back = format!(
        "/sign-in?next={}",
        import
            .replace('/', "%2F")
            .replace('?', "%3F")
            .replace('=', "%3D")
    );
    assert_eq!(nobody.location(), back);
    let begun = Instant::now();
    let mut socket = connect(&service);
    let head = format!(
        "POST {import} HTTP/1.1\r\nHost: localhost:8080\r\nSec-Fetch-Site: same-origin\r\nContent-Length: 5000000\r\n\
         Content-Type: multipart/form-data; boundary=b\r\n\r\n"
    );
    socket
        .write_all(head.as_bytes())
        .expect("it takes the head");
    let mut answer = [0; 12];
    socket.read_exact(&mut answer).expect("it answers");
    assert_eq!(&answer, b"HTTP/1.1 303");
    assert!(begun.elapsed() < Duration::from_secs(5), "it has waited");
}

/// Nor from a user who may not import it: there would be no room for those who may.
#[tokio::test]
async fn nobody_sends_a_file_who_may_not_import_it() {
    let Some(service) = server() else { return };
    let (own, other) = (team(&service, "Acme"), team(&service, "Other"));
    let viewer = signed_in(&service, &own, "viewer").await;
    let cookies = viewer.cookies.iter();
    let cookies: Vec<_> = cookies
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let nobodys = "01a1faf0-fe1b-7fa8-9e61-456751d24f00".to_owned();
    for (team, expected) in [
        (own, b"HTTP/1.1 403"),
        (other, b"HTTP/1.1 404"),
        (nobodys, b"HTTP/1.1 404"),
    ] {
        let begun = Instant::now();
        let mut socket = connect(&service);
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: localhost:8080\r\nSec-Fetch-Site: same-origin\r\nContent-Length: 5000000\r\n\
             Content-Type: multipart/form-data; boundary=b\r\nCookie: {}\r\n\r\n",
            path(&team, "/import"),
            cookies.join("; ")
        );
        socket
            .write_all(head.as_bytes())
            .expect("it takes the head");
        let mut answer = [0; 12];
        socket.read_exact(&mut answer).expect("it answers");
        assert_eq!(&answer, expected);
        assert!(begun.elapsed() < Duration::from_secs(5), "it has waited");
    }
}

/// W18: PostgreSQL keeps each for a while.
#[tokio::test]
async fn a_team_that_sends_very_many_files_is_told_to_wait() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut browser = signed_in(&service, &team, "member").await;
    let import = path(&team, "/import");
    let mut sent = 0;
    let refused = loop {
        let answer = browser.upload(&import, &[], HEADER.as_bytes()).await;
        if answer.status() != 303 {
            break answer;
        }
        sent += 1;
        assert!(sent < 200, "it is never told");
    };
    refused.expect(429, "Your team has just sent many files");
    assert_eq!(refused.header("retry-after"), Some("10"));
    assert!(sent >= 30, "{sent}");
    let other = self::team(&service, "Other");
    let mut neighbour = signed_in(&service, &other, "owner").await;
    let import_there = path(&other, "/import");
    let planned = neighbour.upload(&import_there, &[], HEADER.as_bytes());
    assert_eq!(planned.await.status(), 303);
}

/// W18: a user's second file does not wait: it is refused while the first is being sent. Another team's is not.
#[tokio::test]
async fn a_user_sends_one_file_at_a_time() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut browser = signed_in(&service, &team, "member").await;
    let import = path(&team, "/import");
    let cookies: Vec<_> = browser
        .cookies
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let head = format!(
        "POST {import} HTTP/1.1\r\nHost: localhost:8080\r\nSec-Fetch-Site: same-origin\r\nContent-Length: 5000\r\n\
         Content-Type: multipart/form-data; boundary=b\r\nCookie: {}\r\nExpect: 100-continue\r\n\r\n",
        cookies.join("; ")
    );
    let mut socket = connect(&service);
    socket
        .write_all(head.as_bytes())
        .expect("it takes the head");
    let mut answer = [0; 12];
    socket
        .read_exact(&mut answer)
        .expect("it waits for the file");
    assert_eq!(&answer, b"HTTP/1.1 100");
    let second = browser.upload(&import, &[], HEADER.as_bytes()).await;
    assert_eq!(second.status(), 503, "{second:?}");
    let other = self::team(&service, "Other");
    let mut neighbour = signed_in(&service, &other, "owner").await;
    let import_there = path(&other, "/import");
    let planned = neighbour.upload(&import_there, &[], HEADER.as_bytes());
    assert_eq!(planned.await.status(), 303);
    drop(socket);
    for _ in 0..100 {
        let next = browser.upload(&import, &[], HEADER.as_bytes()).await;
        if next.status() == 303 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the turn is not given back");
}

/// Files after which others have waited for longer than a team may make them wait: as many as it may send at once.
const FILES: u32 = 30;

#[tokio::test]
async fn a_team_that_imports_all_the_time_is_told_to_wait_and_its_plan_is_kept() {
    let Some(service) = server() else { return };
    let database = service.own_database().expect("an own server");
    let makes_others_wait = database.starts_with("sqlite:");
    let team = team(&service, "Acme");
    let mut browser = signed_in(&service, &team, "member").await;
    let mut refused = None;
    for file in 0..FILES {
        let lines = (0..9_000).map(|line| format!("{line},Lamp {file},1,EUR\n"));
        let csv = HEADER.to_owned() + &lines.collect::<String>();
        let answer = browser
            .upload(&path(&team, "/import"), &[], csv.as_bytes())
            .await;
        assert_eq!(answer.status(), 303, "{answer:?}");
        let plan = plan_path(&team, "live", &plan_id(&answer));
        let done = browser.post(&plan, &[]).await;
        if done.status() == 429 {
            refused = Some((plan, done));
            break;
        }
        assert_eq!(done.status(), 303, "{done:?}");
        if !makes_others_wait && file > 2 {
            return;
        }
    }
    let (plan, refused) = refused.expect("it is told to wait");
    refused.expect(429, "Your team has just imported a lot");
    let wait = refused.header("retry-after").and_then(|it| it.parse().ok());
    assert!(
        wait.is_some_and(|it: u64| (1..=600).contains(&it)),
        "{wait:?}"
    );
    browser.get(&plan).await.expect(200, "Import 9000 products");
}

#[tokio::test]
async fn a_plan_of_a_catalog_that_has_changed_is_not_carried_out() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut browser = signed_in(&service, &team, "member").await;
    let csv = format!("{HEADER}A,Lamp,1,EUR\n");
    let answer = browser
        .upload(&path(&team, "/import"), &[], csv.as_bytes())
        .await;
    let carry_out = plan_path(&team, "live", &plan_id(&answer));
    let taken = [("sku", "A"), ("name", "Mine")];
    add(&mut browser, &path(&team, "/new"), &taken)
        .await
        .expect(200, "Mine");
    let refused = browser.post(&carry_out, &[]).await;
    refused.expect(422, "The catalog has changed");
    browser
        .get(&answer.location())
        .await
        .expect(422, "The catalog has changed");

    // A plan is only for the user who made it.
    let csv = format!("{HEADER}B,Lamp,1,EUR\n");
    let answer = browser
        .upload(&path(&team, "/import"), &[], csv.as_bytes())
        .await;
    let mut owner = signed_in(&service, &team, "owner").await;
    owner
        .get(&answer.location())
        .await
        .expect(422, "Choose the file again");
}

/// W26, W40: so many that the data after the first piece is produced while that is being sent.
#[tokio::test]
async fn an_export_has_every_product_and_is_imported_without_any_change() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut browser = signed_in(&service, &team, "member").await;
    let export = path(&team, "/export.csv");
    let empty = browser.get(&export).await;
    assert_eq!(empty.text().lines().count(), 1, "{empty:?}");

    let about = "x".repeat(300);
    let lines = (0..1_200).map(|it| format!("S-{it},=SUM({it}),1.{it:04},EUR,{about}\n"));
    let csv =
        String::from("sku,name,unitPrice,currency,description\n") + &lines.collect::<String>();
    let answer = browser
        .upload(&path(&team, "/import"), &[], csv.as_bytes())
        .await;
    let carry_out = plan_path(&team, "live", &plan_id(&answer));
    let page = browser.submit(&carry_out, &[]).await;
    page.expect(200, "imported");

    let exported = browser.get(&export).await;
    let attachment = Some("attachment; filename=\"products.csv\"");
    assert_eq!(exported.0.header("content-disposition"), attachment);
    assert_eq!(exported.text().lines().count(), 1_201);
    // Several pieces, so its length was unknown at the start.
    assert_eq!(exported.0.header("content-length"), None);
    exported.expect(200, ",'=SUM(1199),1.1199,EUR,");
    let answer = browser
        .upload(&path(&team, "/import"), &[], exported.text().as_bytes())
        .await;
    let plan = browser.get(&answer.location()).await;
    assert_eq!(count(&plan, "Unchanged"), 1_200, "{plan:?}");
    plan.expect(200, "There is nothing to import");

    let archived = browser
        .get(&format!("{export}?mode=live&status=archived"))
        .await;
    assert_eq!(archived.text().lines().count(), 1, "{archived:?}");
}
