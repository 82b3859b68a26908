//! `/`, `/teams/{team}/products` and the form of a product.

use test_support::caller::Request;

use crate::browser::{Browser, Shown, server};
use crate::team::{PASSWORD, add_member, person, signed_in, team};

fn path(team: &str, rest: &str) -> String {
    format!("/teams/{team}/products{rest}")
}

/// A page of a product in the live catalog.
fn at(team: &str, rest: &str, id: &str) -> String {
    format!("{}?mode=live&id={id}", path(team, rest))
}

/// A form's fields: the required ones, and these.
fn fields<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let usual = [
        ("name", "Desk lamp"),
        ("unitPrice", "39.90"),
        ("currency", "EUR"),
    ];
    let given = |name: &str| more.iter().any(|it| it.0 == name);
    let usual = usual.into_iter().filter(|it| !given(it.0));
    usual.chain(more.iter().copied()).collect()
}

/// Adds a product with the form of a page, such as `/new?mode=test`.
pub async fn add(browser: &mut Browser<'_>, page: &str, more: &[(&str, &str)]) -> Shown {
    let once = browser.get(page).await.hidden("once").remove(0);
    let mut form = fields(more);
    form.push(("once", &once));
    let answer = browser.post(page, &form).await;
    match answer.status() {
        303 => browser.follow(&answer).await,
        _ => answer,
    }
}

/// The ids of the products that a list leads to, in order.
fn ids(list: &str) -> Vec<String> {
    let links = list
        .split("&#38;id=")
        .skip(1)
        .chain(list.split("&amp;id=").skip(1));
    links
        .filter_map(|rest| rest.get(..36))
        .map(str::to_owned)
        .collect()
}

#[tokio::test]
async fn a_product_is_added_changed_and_archived() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut browser = signed_in(&service, &team, "member").await;
    let list = path(&team, "");
    browser
        .get(&list)
        .await
        .expect(200, "There is no product yet");

    let new = [("sku", "L-1"), ("taxRate", "19"), ("unitOfMeasure", "pcs")];
    let page = add(&mut browser, &path(&team, "/new"), &new).await;
    page.expect(200, "The product is in the list")
        .expect(200, "39.90 EUR")
        .expect(200, "19 %");
    let id = ids(&page.text()).remove(0);

    let edit = at(&team, "/edit", &id);
    let form = browser.get(&edit).await;
    form.expect(200, "value=\"Desk lamp\"")
        .expect(200, "<option selected>pcs</option>");
    let seen = form.hidden("seen").remove(0);
    let changed = fields(&[
        ("seen", &seen),
        ("unitPrice", "45"),
        ("sku", ""),
        ("unitOfMeasure", "pcs"),
        ("description", "First line\r\nsecond line"),
    ]);
    let page = browser.submit(&edit, &changed).await;
    page.expect(200, "The product is changed")
        .expect(200, "45 EUR");
    assert!(!page.text().contains("L-1"), "{page:?}");
    let form = browser.get(&edit).await;
    form.expect(200, "First line\nsecond line</textarea>");

    let archive = at(&team, "/archive", &id);
    // The product was different when the form was opened.
    let told = browser.post(&archive, &[("seen", &seen)]).await;
    told.expect(422, "Somebody has changed this product");
    let seen = told.hidden("seen").remove(0);
    let page = browser.submit(&archive, &[("seen", &seen)]).await;
    page.expect(200, "The product is archived")
        .expect(200, "There is no product yet");
    let archived = browser.get(&format!("{list}?status=archived")).await;
    archived.expect(200, "Desk lamp");
    browser.get(&edit).await.expect(404, "no such page");
    // Like a second click.
    let again = browser.post(&archive, &[("seen", &seen)]).await;
    assert_eq!(again.status(), 303, "{again:?}");
}

/// W17: the rules of the document are shown at the fields, all at once.
#[tokio::test]
async fn a_refused_product_comes_back_as_it_was_typed() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut browser = signed_in(&service, &team, "owner").await;
    let new = path(&team, "/new");
    let wrong = [
        ("name", "<b>Lamp</b>"),
        ("unitPrice", "cheap"),
        ("currency", "EURO"),
        ("taxRate", "101"),
    ];
    let page = add(&mut browser, &new, &wrong).await;
    let nul = add(&mut browser, &new, &[("name", "a\0b"), ("sku", "\0")]).await;
    nul.expect(422, "id=\"name-complaint\"")
        .expect(422, "id=\"sku-complaint\"");
    page.expect(422, "It must be a number, such as 19.90.")
        .expect(422, "id=\"currency-complaint\"")
        .expect(422, "It must be at most 100, but is 101.")
        .expect(422, "value=\"cheap\"");
    assert!(!page.text().contains("<b>Lamp"), "{page:?}");
    assert_eq!(page.text().matches(" autofocus").count(), 1, "{page:?}");

    add(&mut browser, &new, &[("sku", "A")])
        .await
        .expect(200, "Desk lamp");
    let taken = add(&mut browser, &new, &[("sku", "A"), ("name", "Another")]).await;
    taken
        .expect(422, "It is that of another active product.")
        .expect(422, "value=\"Another\"");
}

#[tokio::test]
async fn a_form_that_is_sent_twice_adds_one_product() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut browser = signed_in(&service, &team, "member").await;
    let new = path(&team, "/new");
    let once = browser.get(&new).await.hidden("once").remove(0);
    let (mut other, form) = (Browser::new(&service), fields(&[("once", &once)]));
    other.cookies = browser.cookies.clone();
    let (one, two) = tokio::join!(browser.post(&new, &form), other.post(&new, &form));
    assert_eq!((one.status(), two.status()), (303, 303), "{one:?} {two:?}");
    let list = browser.get(&path(&team, "")).await;
    assert_eq!(ids(&list.text()).len(), 1, "{list:?}");

    // After "back", with other contents.
    let more = browser
        .post(&new, &fields(&[("once", &once), ("name", "Another")]))
        .await;
    more.expect(422, "This form has added a product before")
        .expect(422, "value=\"Another\"");
    let once = more.hidden("once").remove(0);
    let page = browser
        .submit(&new, &fields(&[("once", &once), ("name", "Another")]))
        .await;
    assert_eq!(ids(&page.text()).len(), 2, "{page:?}");
}

#[tokio::test]
async fn of_two_tabs_the_later_one_is_asked_to_look() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut browser = signed_in(&service, &team, "member").await;
    let page = add(&mut browser, &path(&team, "/new"), &[]).await;
    let id = ids(&page.text()).remove(0);
    let edit = at(&team, "/edit", &id);
    let seen = browser.get(&edit).await.hidden("seen").remove(0);
    let one = fields(&[("seen", &seen), ("unitPrice", "1")]);
    browser.submit(&edit, &one).await.expect(200, "1 EUR");

    let two = fields(&[("seen", &seen), ("name", "Floor lamp")]);
    let told = browser.post(&edit, &two).await;
    told.expect(422, "Somebody has changed this product")
        .expect(422, "value=\"Floor lamp\"");
    browser.get(&edit).await.expect(200, "value=\"Desk lamp\"");
    let seen = told.hidden("seen").remove(0);
    let again = fields(&[("seen", &seen), ("name", "Floor lamp"), ("unitPrice", "1")]);
    browser
        .submit(&edit, &again)
        .await
        .expect(200, "Floor lamp");
}

#[tokio::test]
async fn the_live_and_the_test_catalog_are_apart() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut browser = signed_in(&service, &team, "member").await;
    let new = path(&team, "/new?mode=test");
    let page = add(&mut browser, &new, &[("name", "Tried out")]).await;
    page.expect(200, "Tried out")
        .expect(200, "The test catalog is for trying things");
    let id = ids(&page.text()).remove(0);
    let live = browser.get(&path(&team, "")).await;
    assert!(!live.text().contains("Tried out"), "{live:?}");
    for rest in ["/edit", ""] {
        let found = browser
            .get(&format!("{}?mode=other&id={id}", path(&team, rest)))
            .await;
        assert_eq!(found.status(), 404, "{found:?}");
    }
    let found = browser
        .get(&format!("{}?mode=live&id={id}", path(&team, "/edit")))
        .await;
    assert_eq!(found.status(), 404, "{found:?}");
    let archive = at(&team, "/archive", &id);
    let archived = browser.post(&archive, &[("seen", "0")]).await;
    assert_eq!(archived.status(), 404, "{archived:?}");
}

#[tokio::test]
async fn a_viewer_sees_products_and_no_way_to_change_them() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut member = signed_in(&service, &team, "member").await;
    add(&mut member, &path(&team, "/new"), &[]).await;
    let mut viewer = signed_in(&service, &team, "viewer").await;
    let list = viewer.get(&path(&team, "")).await;
    list.expect(200, "Desk lamp").expect(200, "Export as CSV");
    for link in ["/new", "/import", "/edit"] {
        assert!(
            !list.text().contains(&path(&team, link)),
            "{link}: {list:?}"
        );
    }
}

#[tokio::test]
async fn a_long_list_comes_in_pages() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let key = [
        "api-key",
        "create",
        "--team",
        &team,
        "--mode",
        "live",
        "--scope",
        "read-write",
    ];
    let key = service.command(&key).expect("an own server");
    for number in 0..51 {
        let body = format!("{{\"name\":\"P-{number}-\",\"unitPrice\":1,\"currency\":\"EUR\"}}");
        let request = Request::new("POST", "/api/v1/products").text(body);
        let made = service
            .caller
            .send(request.bearer(key["key"].as_str().expect("a key")))
            .await;
        assert_eq!(made.status(), 201);
    }
    let mut browser = signed_in(&service, &team, "viewer").await;
    let first = browser.get(&path(&team, "")).await;
    assert!(
        first.text().contains("P-50-") && !first.text().contains("P-0-"),
        "{first:?}"
    );
    let text = first.text();
    let (before, _) = text
        .split_once("\" rel=\"next\">Older")
        .expect("there are more");
    let link = before.rsplit("href=\"").next().expect("a link");
    let link = link.replace("&amp;", "&").replace("&#38;", "&");
    let second = browser.get(&link).await;
    second.expect(200, "P-0-").expect(200, "Newest");
    assert!(!second.text().contains("Older"), "{second:?}");
    let made_up = format!("{}?after=made-up", path(&team, ""));
    assert_eq!(browser.get(&made_up).await.status(), 400);
}

/// W1, W11.
#[tokio::test]
async fn who_has_one_team_begins_with_its_products_and_others_with_a_choice() {
    let Some(service) = server() else { return };
    let (acme, other) = (team(&service, "Acme"), team(&service, "Other"));
    let mut browser = signed_in(&service, &acme, "viewer").await;
    assert_eq!(browser.get("/").await.location(), path(&acme, ""));
    add_member(&service, &other, "viewer@example.com", "viewer");
    browser
        .get("/")
        .await
        .expect(200, &path(&acme, ""))
        .expect(200, &path(&other, ""));

    person(&service, "nobody@example.com").await;
    let mut nobody = Browser::new(&service);
    assert_eq!(nobody.get("/").await.location(), "/sign-in");
    nobody.get("/sign-in").await.expect(200, "href=\"/docs\"");
    nobody.sign_in("nobody@example.com", PASSWORD).await;
    nobody.get("/").await.expect(200, "You are in no team yet");
}
