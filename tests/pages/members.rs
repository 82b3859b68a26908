//! `/teams/{team}/settings/members` and `/invitation/{token}`.

use test_support::service::Service;

use crate::browser::{Browser, ORIGIN, Shown, server};
use crate::team::{PASSWORD, age_sign_ins, member, person, signed_in, team};

fn path(team: &str) -> String {
    format!("/teams/{team}/settings/members")
}

/// The path of the link that a page shows, if any.
fn link(page: &Shown) -> Option<String> {
    let text = page.text();
    let (_, rest) = text.split_once("<code id=\"made\">")?;
    let link = rest.split('<').next()?;
    link.strip_prefix(ORIGIN).map(str::to_owned)
}

/// Invites in a browser. Returns the path of the link.
async fn invite(browser: &mut Browser<'_>, team: &str, email: &str, role: &str) -> String {
    let page = browser
        .submit(&path(team), &[("email", email), ("role", role)])
        .await;
    link(&page).unwrap_or_else(|| panic!("{}", page.text()))
}

/// The input of a new user.
const NEW: [(&str, &str); 2] = [("name", "Bo"), ("password", PASSWORD)];

/// The id of a member.
fn id(service: &Service, email: &str) -> String {
    let user = service.command(&["user", "show", email]);
    user.expect("an own server")["id"]
        .as_str()
        .expect("an id")
        .to_owned()
}

#[tokio::test]
async fn somebody_is_invited_makes_an_account_and_is_in_the_team() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut owner = signed_in(&service, &team, "owner").await;
    owner
        .get(&path(&team))
        .await
        .expect(200, "Nobody is invited now");
    let link = invite(&mut owner, &team, "bo@example.com", "member").await;
    let page = owner.get(&path(&team)).await;
    page.expect(200, "bo@example.com");
    assert!(!page.text().contains(&link), "it is shown once");

    let mut bo = Browser::new(&service);
    bo.get(&link).await.expect(200, "Join Acme");
    let weak = [("name", "Bo"), ("password", "short")];
    let refused = bo.post(&link, &weak).await;
    refused
        .expect(422, "id=\"password-complaint\"")
        .expect(422, "value=\"Bo\"");
    bo.submit(&link, &NEW)
        .await
        .expect(200, "There is no product yet");
    bo.get(&path(&team)).await.expect(403, "role");
    bo.get(&link).await.expect(404, "no such page");
    owner
        .get(&path(&team))
        .await
        .expect(200, "Nobody is invited now");
}

/// An attempted take-over.
#[tokio::test]
async fn a_user_who_exists_signs_in_and_confirms_and_nobody_else_does() {
    let Some(service) = server() else { return };
    let (ours, theirs) = (team(&service, "Acme"), team(&service, "Other"));
    let mut owner = signed_in(&service, &ours, "owner").await;
    let mut eve = signed_in(&service, &theirs, "viewer").await;
    person(&service, "bo@example.com").await;
    let link = invite(&mut owner, &ours, "Bo@Example.com", "viewer").await;

    let mut nobody = Browser::new(&service);
    let page = nobody.get(&link).await;
    page.expect(200, "You have an account already");
    assert!(!page.text().contains("new-password"), "{}", page.text());
    let refused = nobody.post(&link, &NEW).await;
    refused.expect(200, "You have an account already");
    eve.get(&link)
        .await
        .expect(403, "signed in as somebody else");
    eve.post(&link, &[])
        .await
        .expect(403, "signed in as somebody else");

    let next = format!("/sign-in?next={}", link.replace('/', "%2F"));
    assert!(page.text().contains(&next), "{}", page.text());
    let sign_in = nobody.get(&next).await;
    let next = sign_in.hidden("next");
    let fields = [
        ("email", "bo@example.com"),
        ("password", PASSWORD),
        ("next", &next[0]),
    ];
    let page = nobody.submit("/sign-in", &fields).await;
    page.expect(200, "<button>Join</button>");
    let shown = nobody.submit(&link, &[]).await;
    shown.expect(200, "There is no product yet");
    assert!(
        !shown.text().contains("/new"),
        "a viewer adds none: {shown:?}"
    );
}

#[tokio::test]
async fn what_gives_power_or_takes_it_needs_a_fresh_sign_in() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut owner = signed_in(&service, &team, "owner").await;
    let viewer = member(&service, &team, "viewer").await;
    let viewer = id(&service, &viewer);
    let path = path(&team);
    let asks = "Confirm that it is you";
    age_sign_ins(&service);
    for role in ["owner", "admin"] {
        let fields = [("email", "bo@example.com"), ("role", role)];
        owner.post(&path, &fields).await.expect(403, asks);
        let fields = [("id", viewer.as_str()), ("role", role)];
        let raise = owner.post(&format!("{path}/role"), &fields).await;
        raise.expect(403, asks);
    }
    let remove = format!("{path}/remove");
    let asked = owner.post(&remove, &[("id", &viewer)]).await;
    asked.expect(403, asks);
    // A lower role needs none.
    invite(&mut owner, &team, "bo@example.com", "member").await;
    let fields = [("id", viewer.as_str()), ("role", "member")];
    owner
        .submit(&format!("{path}/role"), &fields)
        .await
        .expect(200, "Members");
    let fields = [("id", viewer.as_str()), ("confirm_password", PASSWORD)];
    let page = owner.submit(&remove, &fields).await;
    assert!(!page.text().contains("viewer@example.com"));
}

#[tokio::test]
async fn an_admin_is_offered_and_does_nothing_above_their_role() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let owner = id(&service, &member(&service, &team, "owner").await);
    let mut admin = signed_in(&service, &team, "admin").await;
    let path = path(&team);
    let page = admin.get(&path).await.text();
    assert!(!page.contains("value=\"owner\""), "{page}");
    assert!(!page.contains(&format!("remove?id={owner}")), "{page}");
    let own = id(&service, "admin@example.com");
    for (form, fields) in [
        ("", [("email", "bo@example.com"), ("role", "owner")]),
        ("/role", [("id", owner.as_str()), ("role", "viewer")]),
        ("/role", [("id", own.as_str()), ("role", "owner")]),
        ("/remove", [("id", owner.as_str()), ("revoke_keys", "yes")]),
    ] {
        let refused = admin.post(&format!("{path}{form}"), &fields).await;
        refused.expect(403, "Your role does not allow this");
    }
}

#[tokio::test]
async fn the_last_owner_is_told_to_name_another() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    member(&service, &team, "viewer").await;
    let mut owner = signed_in(&service, &team, "owner").await;
    let own = id(&service, "owner@example.com");
    let path = path(&team);
    let fields = [("id", own.as_str()), ("role", "viewer")];
    let refused = owner.post(&format!("{path}/role"), &fields).await;
    refused.expect(422, "no other owner");
    let refused = owner.post(&format!("{path}/remove"), &[("id", &own)]).await;
    refused.expect(422, "no other owner");
    let refused = owner.post("/account/leave", &[("id", &team)]).await;
    refused.expect(422, "no other owner");
    let refused = owner.post("/account/delete", &[]).await;
    refused.expect(422, "no other owner");
}

#[tokio::test]
async fn who_is_removed_is_out_at_once_with_their_keys_if_that_is_wanted() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut owner = signed_in(&service, &team, "owner").await;
    let mut admin = signed_in(&service, &team, "admin").await;
    let keys = format!("/teams/{team}/settings/integrations/api-keys");
    let wanted = [("name", "Shop"), ("mode", "test"), ("scope", "read-only")];
    admin.submit(&keys, &wanted).await.expect(200, "Shop");
    owner.get(&keys).await.expect(200, "admin@example.com");
    let admin_id = id(&service, "admin@example.com");
    let remove = format!("{}/remove", path(&team));
    let page = owner.get(&format!("{remove}?id={admin_id}")).await;
    page.expect(200, "Revoke the API keys");
    let fields = [("id", admin_id.as_str()), ("revoke_keys", "yes")];
    owner.submit(&remove, &fields).await.expect(200, "Members");
    admin.get(&keys).await.expect(404, "no such page");
    owner
        .get(&keys)
        .await
        .expect(200, "A former member")
        .expect(200, "Revoked");
}

#[tokio::test]
async fn an_invitation_that_is_withdrawn_or_replaced_leads_nowhere() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut owner = signed_in(&service, &team, "owner").await;
    let first = invite(&mut owner, &team, "bo@example.com", "viewer").await;
    let second = invite(&mut owner, &team, "bo@example.com", "member").await;
    let mut bo = Browser::new(&service);
    bo.get(&first).await.expect(404, "no such page");
    let page = bo.get(&second).await;
    page.expect(200, "as member");
    let listed = owner.get(&path(&team)).await;
    let text = listed.text();
    let (_, form) = text.split_once("/uninvite\"").expect("it is offered");
    let (_, id) = form.split_once("value=\"").expect("a field");
    let id = id.split('"').next().expect("a value");
    let uninvite = format!("{}/uninvite", path(&team));
    owner
        .submit(&uninvite, &[("id", id)])
        .await
        .expect(200, "Nobody is invited now");
    bo.get(&second).await.expect(404, "no such page");
    bo.post(&second, &NEW).await.expect(404, "no such page");
}

/// V9: to invite somebody again withdraws what they were invited to.
#[tokio::test]
async fn an_invitation_is_replaced_only_after_a_fresh_sign_in() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut owner = signed_in(&service, &team, "owner").await;
    let first = invite(&mut owner, &team, "bo@example.com", "admin").await;
    age_sign_ins(&service);
    invite(&mut owner, &team, "cy@example.com", "viewer").await;
    let again = [("email", "Bo@example.com"), ("role", "viewer")];
    let asked = owner.post(&path(&team), &again).await;
    asked.expect(403, "Confirm that it is you");
    let mut bo = Browser::new(&service);
    bo.get(&first).await.expect(200, "as admin");
}

#[tokio::test]
async fn names_and_emails_are_text_whatever_they_look_like() {
    let Some(service) = server() else { return };
    let team = team(&service, "<b>Acme</b>");
    let mut owner = signed_in(&service, &team, "owner").await;
    let email = "\"><img/src=x>@example.com";
    let link = invite(&mut owner, &team, email, "member").await;
    let mut bo = Browser::new(&service);
    let pages = [owner.get(&path(&team)).await, bo.get(&link).await];
    let new = [("name", "<script>alert(1)</script>"), NEW[1]];
    bo.submit(&link, &new).await;
    let after = [owner.get(&path(&team)).await, bo.get("/account").await];
    for page in pages.iter().chain(&after) {
        let text = page.text();
        for markup in ["<b>", "<img", "<script>"] {
            assert!(!text.contains(markup), "{text}");
        }
    }
    // A refused form comes back with its input.
    let fields = [("email", "<svg/onload=x>"), ("role", "member")];
    let refused = owner.post(&path(&team), &fields).await;
    refused.expect(422, "id=\"email-complaint\"");
    assert!(!refused.text().contains("<svg"), "{}", refused.text());
    let taken = [("email", "owner@example.com"), ("role", "member")];
    let refused = owner.post(&path(&team), &taken).await;
    refused.expect(422, "is that of a member");
}
