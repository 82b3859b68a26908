//! The requests that the demo prints.
//!
//! All values are written out, so that any shell takes them. The one value that cannot be known in advance is an
//! authorization code, which lives for a minute: this very binary issues it when the line is pasted, as a sign-in page
//! would, on the database that the server runs on.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

use crate::domain::secret::Secret;
use crate::settings::{Origin, Settings};

use super::seed::{self, CLIENT, INSTALL_ID, REDIRECT_URI, Seed};

/// The whole scenario, printed once the server listens.
pub(super) fn render(settings: &Settings, seed: &Seed, binary: &Path) -> String {
    let scenario = Scenario {
        url: settings.public_url.as_str(),
        seed,
    };
    let steps = [
        scenario.list(),
        scenario.create(),
        scenario.change(),
        scenario.archive(),
        scenario.list_all(),
        scenario.invalid(),
        scenario.forbidden(),
        scenario.other_mode(),
        scenario.links(),
        scenario.sign_in(settings, binary),
        scenario.refresh(),
    ];
    let mut text = format!(
        "# The invoicing service listens on {url}, with a team that is called Acme.\n\
         # Its documentation, where every operation can be tried with the keys below: {url}/docs\n\
         # Its pages, for people: {origin}/sign-in, as {email} with the password {password}\n\
         # Paste these requests into another terminal, in order, one by one or all at once.\n\
         # Ctrl-C here ends the demo and removes its database.\n",
        url = scenario.url,
        origin = settings
            .origin()
            .as_ref()
            .map_or(scenario.url, Origin::as_str),
        email = seed::EMAIL,
        password = seed.credentials.password.reveal(),
    );
    for (number, (title, request)) in (1..).zip(steps) {
        text.push_str(&format!("\n# {number}. {title}\n{request}; echo\n"));
    }
    text.push_str(&format!(
        "\n# The whole interface: {url}/api/v1/openapi.yaml and {url}/api/mobile/openapi.yaml\n\n",
        url = scenario.url,
    ));
    text
}

/// The purpose of a request, and the request.
type Step = (&'static str, String);

struct Scenario<'a> {
    url: &'a str,
    seed: &'a Seed,
}

impl Scenario<'_> {
    fn list(&self) -> Step {
        let title = "List the products, newest first. `nextCursor` would lead to the next page.";
        (
            title,
            self.catalog("GET", "?limit=20", &self.seed.credentials.key, None),
        )
    }

    fn create(&self) -> Step {
        let title = "Create a product. Paste it twice: the idempotency key makes that safe.";
        let body = json!({
            "name": "Workshop", "unitPrice": 1490, "currency": "EUR", "sku": "WORK-1",
            "taxRate": 19, "type": "SERVICES", "unitOfMeasure": "day",
        });
        let request = self.catalog("POST", "", &self.seed.credentials.key, Some(body));
        (
            title,
            request + " \\\n  -H 'Idempotency-Key: demo-workshop-1'",
        )
    }

    fn change(&self) -> Step {
        let title = "Change one: a new price, no description any more, the rest as it was.";
        let body = json!({ "unitPrice": 135.5, "description": null });
        let path = format!("/{}", self.seed.consulting);
        (
            title,
            self.catalog("PATCH", &path, &self.seed.credentials.key, Some(body)),
        )
    }

    fn archive(&self) -> Step {
        let title = "Archive one. Old invoices still find it.";
        let path = format!("/{}", self.seed.brochure);
        (
            title,
            self.catalog("DELETE", &path, &self.seed.credentials.key, None),
        )
    }

    fn list_all(&self) -> Step {
        let title = "List all, archived ones too.";
        (
            title,
            self.catalog("GET", "?status=all", &self.seed.credentials.key, None),
        )
    }

    fn invalid(&self) -> Step {
        let title = "A mistake, or rather four: every one of them is reported.";
        let body = json!({ "name": "", "unitPrice": -1, "currency": "Euro", "colour": "red" });
        (
            title,
            self.catalog("POST", "", &self.seed.credentials.key, Some(body)),
        )
    }

    fn forbidden(&self) -> Step {
        let title = "A key that may only read.";
        let path = format!("/{}", self.seed.consulting);
        (
            title,
            self.catalog("DELETE", &path, &self.seed.credentials.read_only_key, None),
        )
    }

    fn other_mode(&self) -> Step {
        let title = "A test key sees the team's other catalog, and nothing of the live one.";
        (
            title,
            self.catalog("GET", "", &self.seed.credentials.test_key, None),
        )
    }

    fn links(&self) -> Step {
        let title = "On Ada's phone, which is signed in: the share links of a file.";
        let request = format!(
            "curl -i '{}/api/mobile/items/file/{}/links' \\\n  -H 'Authorization: Bearer {}' \\\n  \
             -H 'X-Team-Id: {}'",
            self.url,
            self.seed.credentials.file,
            self.seed.credentials.access_token.reveal(),
            self.seed.credentials.team,
        );
        (title, request)
    }

    fn sign_in(&self, settings: &Settings, binary: &Path) -> Step {
        let title = "Sign Ada in on a second device. The command stands in for a sign-in page and issues \
                     a code,\n#     which is exchanged for tokens.";
        let verifier = Secret::base64url();
        let challenge = URL_SAFE_NO_PAD.encode(verifier.digest().as_bytes());
        let body = json!({
            "grant_type": "authorization_code", "code": "@@", "code_verifier": verifier.reveal(),
            "redirect_uri": REDIRECT_URI, "client_id": CLIENT, "install_id": "demo-tablet",
        });
        let body = body.to_string().replace("@@", "\\1");
        let request = format!(
            "{binary} auth-code issue --json --database {database} \\\n  \
             --user {user} --client {CLIENT} --redirect-uri {REDIRECT_URI} \\\n  \
             --code-challenge={challenge} |\n\
             sed 's|.*\"code\":\"\\([^\"]*\\)\".*|{body}|' |\n\
             curl -i {url}/api/auth/mobile/token -H 'Content-Type: application/json' -d @-",
            binary = quoted(&binary.to_string_lossy()),
            database = quoted(&settings.database.to_string()),
            user = self.seed.credentials.user,
            url = self.url,
        );
        (title, request)
    }

    fn refresh(&self) -> Step {
        let title = "Back on the phone: fresh tokens for the refresh token, which works once.";
        let body = json!({
            "grant_type": "refresh_token",
            "refresh_token": self.seed.credentials.refresh_token.reveal(),
            "client_id": CLIENT,
            "install_id": INSTALL_ID,
        });
        let request = format!(
            "curl -i {}/api/auth/mobile/token -H 'Content-Type: application/json' \\\n  -d '{body}'",
            self.url,
        );
        (title, request)
    }

    /// A request to the products; `rest` follows their path.
    fn catalog(
        &self,
        method: &str,
        rest: &str,
        key: &Secret,
        body: Option<serde_json::Value>,
    ) -> String {
        let method = if method == "GET" {
            String::new()
        } else {
            format!("-X {method} ")
        };
        let mut request = format!(
            "curl -i {method}'{}/api/v1/products{rest}' \\\n  -H 'Authorization: Bearer {}'",
            self.url,
            key.reveal(),
        );
        if let Some(body) = body {
            request.push_str(" \\\n  -H 'Content-Type: application/json' \\\n  ");
            request.push_str(&format!("-d '{body}'"));
        }
        request
    }
}

/// A word that any shell takes literally.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-:".contains(c);
    if text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_spaces_and_quotes_is_quoted() {
        assert_eq!(quoted("/tmp/a_b-1.db"), "/tmp/a_b-1.db");
        assert_eq!(quoted("/tmp/it's here"), "'/tmp/it'\\''s here'");
    }
}
