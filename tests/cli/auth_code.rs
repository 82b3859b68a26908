//! OAuth clients and their authorization codes.

use serde_json::json;

use crate::place::{Place, names};

/// The example of RFC 7636, appendix B.
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

#[test]
fn a_client_has_one_or_more_redirect_uris() {
    let place = Place::with_database();
    let uris = ["com.example.app:/in", "https://example.com/in"];
    let create = [
        "oauth-client",
        "create",
        "--id",
        "mobile",
        "--name",
        "App",
        "--redirect-uri",
    ];
    let client = place.json(&[&create[..], &uris].concat());
    assert_eq!(names(&client), ["id", "name", "redirectUris", "createdAt"]);
    assert_eq!(
        (&client["id"], &client["redirectUris"]),
        (&json!("mobile"), &json!(uris))
    );
    place
        .run(&[&create[..], &uris].concat())
        .failed(1, "exists already");
    place.run(&create[..6]).failed(2, "--redirect-uri");
}

#[test]
fn a_redirect_uri_that_may_have_no_code_is_refused() {
    let place = Place::with_database();
    let create = "oauth-client create --id mobile --name App --redirect-uri";
    let create = |uri: &str| place.run(&create.split(' ').chain([uri]).collect::<Vec<_>>());
    for uri in ["javascript:alert(1)", "app:/in", "http://example.com/in"] {
        create(uri).failed(1, "in a scheme of the app's own that has a dot");
    }
    assert_eq!(create("http://127.0.0.1:4000/in").code, 0);
}

#[test]
fn a_code_is_issued_for_a_user_a_client_and_one_of_its_uris() {
    let place = Place::with_database();
    let user = place.make(&[
        "user",
        "create",
        "--name",
        "Ada",
        "--email",
        "ada@example.com",
    ]);
    let uri = "com.example.app:/in";
    place.make(&[
        "oauth-client",
        "create",
        "--id",
        "app",
        "--name",
        "App",
        "--redirect-uri",
        uri,
    ]);
    let issue = |client: &str, uri: &str, challenge: &str| {
        let command = [
            "auth-code",
            "issue",
            "--user",
            &user,
            "--client",
            client,
            "--redirect-uri",
            uri,
        ];
        place.run(&[&command[..], &["--code-challenge", challenge, "--json"]].concat())
    };
    let issued = issue("app", uri, CHALLENGE);
    let issued: serde_json::Value = serde_json::from_str(&issued.output).unwrap();
    assert_eq!(names(&issued), ["code", "expiresIn"]);
    assert_eq!(
        (issued["code"].as_str().unwrap().len(), &issued["expiresIn"]),
        (43, &json!(60))
    );

    issue("other", uri, CHALLENGE).failed(1, "no OAuth client \"other\"");
    issue("app", "com.example.app:/in/", CHALLENGE).failed(1, "redirect URI");
    issue("app", uri, "plain-text").failed(2, "--code-challenge");
    // A challenge may begin with a hyphen: it is a hash in base64url.
    assert_eq!(issue("app", uri, &CHALLENGE.replacen('E', "-", 1)).code, 0);
}
