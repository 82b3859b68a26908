//! The whole flow: from the request of an app to its tokens, and to their end.

use super::*;

#[tokio::test]
async fn an_app_signs_somebody_in_until_it_is_signed_out_on_the_page() {
    let Some(service) = with_an_app() else { return };
    let mut browser = Browser::new(&service);
    person(&service, ADA).await;
    let team = team(&service, "Acme");
    let add = [
        "member", "add", "--team", &team, "--user", ADA, "--role", "viewer",
    ];
    command(&service, &add);
    let file = command(
        &service,
        &["file", "create", "--team", &team, "--name", "a"],
    );

    let hinted = target(&[("login_hint", ADA), ("resource", "x"), ("prompt", "none")]);
    let to_sign_in = location(&browser.get(&hinted).await);
    let page = browser.get(&to_sign_in).await;
    assert_eq!(attribute(&page, "maxlength=\"254\" value=\""), ADA);
    let back = sign_in(&mut browser, ADA, &page).await;
    let sent_to = approve(&mut browser, &back).await;
    assert!(sent_to.starts_with(&format!("{URI}?")), "{sent_to}");
    let told = told(&sent_to);
    assert_eq!(
        (&told["state"][..], &told["iss"][..], told.len()),
        ("s", ORIGIN, 3)
    );

    let tokens = service.exchange(&grant(&told["code"], URI)).await;
    let tokens = tokens.expect_status(200).json();
    let links = format!(
        "/api/mobile/items/file/{}/links",
        file["id"].as_str().unwrap()
    );
    let links = Request::new("GET", links)
        .bearer(tokens["access_token"].as_str().unwrap())
        .header("x-team-id", &team);
    service.caller.send(links.clone()).await.expect_status(200);

    let devices = browser.get("/account/devices").await;
    assert!(devices.text().contains("App/1 (Phone)"));
    let apps = devices.text();
    let (_, apps) = apps.split_once("end-session\">").unwrap();
    let (_, id) = apps.split_once("name=\"id\" value=\"").unwrap();
    let id = id.split('"').next().unwrap();
    let ended = browser
        .post("/account/devices/end-session", &[("id", id)])
        .await;
    assert_eq!(location(&ended), "/account/devices");
    service.caller.send(links).await.expect_status(401);
}

#[tokio::test]
async fn a_code_is_good_once_at_the_port_that_it_was_sent_to() {
    let Some(service) = with_an_app() else { return };
    let mut browser = browser_of(&service, ADA).await;
    let there = "http://127.0.0.1:53121/signed-in";
    let asked = target(&[("redirect_uri", there)]);
    let sent_to = approve(&mut browser, &asked).await;
    assert!(sent_to.starts_with(&format!("{there}?")), "{sent_to}");
    let code = &told(&sent_to)["code"];
    for other in [LOOPBACK, "http://127.0.0.1:53122/signed-in", URI] {
        let refused = service.exchange(&grant(code, other)).await;
        assert_eq!(refused.expect_status(400).json()["error"], "invalid_grant");
    }
    service
        .exchange(&grant(code, there))
        .await
        .expect_status(200);
    service
        .exchange(&grant(code, there))
        .await
        .expect_status(400);
    // The query of a URI is kept, and each approval has its own code.
    let queried = target(&[("redirect_uri", "https://app.example.com/cb?tenant=1")]);
    let (first, second) = (
        approve(&mut browser, &queried).await,
        approve(&mut browser, &queried).await,
    );
    assert!(
        first.starts_with("https://app.example.com/cb?tenant=1&code="),
        "{first}"
    );
    assert_ne!(told(&first)["code"], told(&second)["code"]);
}
