//! Input into forms that need a valid link, and the contents of an imported file, stay text as well: the rest of
//! `attacks.rs`, with the same corpus.

use crate::attacks::{ADA, CORPUS, ELSEWHERE, POLYGLOT, ada, is_harmless, mailing, team_of_ada};
use crate::browser::{Browser, link_path};
use crate::team::person;

/// Not a valid password, so that the link stays valid and the form comes back.
const WEAK: &str = "tulip";

/// Puts each value into each field alone, and into all at once. The form must come back each time.
async fn refused_forms_are_harmless(browser: &mut Browser<'_>, path: &str, good: &[(&str, &str)]) {
    browser.get(path).await.expect(200, "<form");
    for value in CORPUS.into_iter().chain(ELSEWHERE).chain([POLYGLOT]) {
        let alone = (0..good.len()).map(|changed| {
            let mut fields = good.to_vec();
            fields[changed].1 = value;
            fields
        });
        let together = good.iter().map(|(name, _)| (*name, value)).collect();
        for mut fields in alone.chain([together]) {
            fields.push(("password", WEAK));
            let answer = browser.post(path, &fields).await;
            let case = format!("{fields:?} to {path}");
            answer.expect(422, "<form");
            is_harmless(&case, &answer);
        }
        let answer = browser.post(path, &[("password", &value[..3])]).await;
        answer.expect(422, "<form");
        is_harmless(value, &answer);
    }
    browser.get(path).await.expect(200, "<form");
}

#[tokio::test]
async fn no_field_of_a_set_up_becomes_markup() {
    let Some(service) = mailing() else { return };
    let link = link_path(&service, &["setup-link"]);
    let good = [("team", "Acme"), ("name", "Ada"), ("email", ADA)];
    let mut browser = Browser::new(&service);
    refused_forms_are_harmless(&mut browser, &link, &good).await;
}

#[tokio::test]
async fn no_field_behind_an_invitation_becomes_markup_nor_does_who_invites_to_what() {
    let Some(service) = mailing() else { return };
    person(&service, ADA).await;
    let mut inviting = ada(&service).await;
    for (number, value) in CORPUS.into_iter().enumerate() {
        inviting.submit("/account/name", &[("name", value)]).await;
        let team = team_of_ada(&service, value);
        let email = format!("somebody-{number}@example.com");
        let invite = ["user", "invite", "--team", &team, "--role", "viewer"];
        let link = link_path(&service, &[&invite[..], &["--email", &email]].concat());
        is_harmless(value, &inviting.get(&link).await);
        let mut browser = Browser::new(&service);
        let page = browser.get(&link).await;
        assert_eq!(page.status(), 200, "{page:?}");
        is_harmless(value, &page);
        if number == 0 {
            refused_forms_are_harmless(&mut browser, &link, &[("name", "Bo")]).await;
        }
    }
}

#[tokio::test]
async fn no_password_behind_a_link_of_a_reset_becomes_markup_nor_does_its_user() {
    let Some(service) = mailing() else { return };
    person(&service, ADA).await;
    for value in CORPUS {
        let mut browser = ada(&service).await;
        browser.submit("/account/name", &[("name", value)]).await;
        let link = link_path(&service, &["user", "reset-link", ADA]);
        is_harmless(value, &browser.get(&link).await);
        refused_forms_are_harmless(&mut Browser::new(&service), &link, &[]).await;
    }
}

#[tokio::test]
async fn no_cell_of_a_file_becomes_markup_in_a_plan_nor_does_its_head() {
    let Some(service) = mailing() else { return };
    person(&service, ADA).await;
    let mut browser = ada(&service).await;
    let quoted = |value: &str| format!("\"{}\"", value.replace('"', "\"\""));
    let good = ["SKU-1", "Lamp", "1.50", "EUR", "hr", "Somewhat"];
    let head = "sku,name,unitPrice,currency,unitOfMeasure,description";
    for value in CORPUS.into_iter().chain(ELSEWHERE).chain([POLYGLOT]) {
        // One may send few files at once.
        let team = team_of_ada(&service, "Acme");
        let import = format!("/teams/{team}/products/import?mode=test");
        let mut file = format!("{head}\n");
        for changed in 0..=good.len() {
            let cells = good.iter().enumerate().map(|(number, cell)| {
                let is_changed = number == changed || changed == good.len();
                quoted(if is_changed { value } else { cell })
            });
            file += &(cells.collect::<Vec<_>>().join(",") + "\n");
        }
        let plan = browser.upload(&import, &[], file.as_bytes()).await;
        assert_eq!(plan.status(), 303, "{value}: {plan:?}");
        let plan = browser.follow(&plan).await;
        plan.expect(200, "Refused");
        is_harmless(value, &plan);
        let file = format!(
            "{head},{}\nSKU-1,Lamp,1.50,EUR,hr,Somewhat,x\n",
            quoted(value)
        );
        let answer = browser.upload(&import, &[], file.as_bytes()).await;
        is_harmless(value, &answer);
        is_harmless(value, &browser.get(&import).await);
    }
}
