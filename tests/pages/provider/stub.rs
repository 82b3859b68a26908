//! An OpenID provider that behaves as a test wants.
//!
//! It has metadata, keys and a token endpoint, which accepts a code once, with the client's secret and the verifier. It
//! has no sign-in page: a test reads the address that the service redirects to, and decides who signs in.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, LazyLock, Mutex};

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair as RsaKeyPair, KeySize};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, RSA_PKCS1_SHA256,
};
use aws_lc_rs::{digest, hmac};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use test_support::service::Service;
use tokio::net::TcpListener;

use crate::browser::{ORIGIN, server_with};

pub const CLIENT_ID: &str = "invoicing";
const CLIENT_SECRET: &str = "a secret: with signs & more + %";

/// One key pair of each kind for all tests: they take time to generate.
static RSA: LazyLock<RsaKeyPair> =
    LazyLock::new(|| RsaKeyPair::generate(KeySize::Rsa2048).expect("a key can be made"));
static EC: LazyLock<[EcdsaKeyPair; 2]> = LazyLock::new(|| {
    [(), ()].map(|()| {
        EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key can be made")
    })
});

/// How it behaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Manner {
    #[default]
    Well,
    /// Accepts requests and never answers.
    Silent,
    /// Answers with far too much.
    Endless,
    /// Redirects elsewhere.
    Redirecting,
    /// Claims to be another issuer.
    Impostor,
    /// Promises to identify itself in redirects back to the client.
    Promising,
    /// Does not claim to know when people signed in.
    Reticent,
    /// Accepts the client's secret only in the body.
    SecretInBody,
    /// Instead of the token endpoint, a proxy answers that it is down.
    BadGateway,
    /// The same, with an empty body.
    Empty,
    /// Limits the rate of this client.
    Limiting,
}

/// How a token is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signed {
    Rs256,
    Es256,
    /// With the key that the provider has after a change of keys.
    Es256Next,
    /// With an unknown key, under the name of a known one.
    Forged,
    Not,
    /// With the public half of the RSA key, as if it were a shared secret.
    HsOfPublicKey,
    HsOfClientSecret,
}

/// The token in exchange for a code.
#[derive(Clone, Debug)]
pub struct Token {
    claims: Value,
    signed: Signed,
}

/// The token of a user who signs in there.
pub fn somebody(subject: &str) -> Token {
    Token {
        claims: json!({"sub": subject, "auth_time": now()}),
        signed: Signed::Es256,
    }
}

impl Token {
    /// With an email that the provider marks as verified.
    pub fn email(self, email: &str) -> Token {
        self.with("email", json!(email))
            .with("email_verified", json!(true))
    }

    /// With another claim, or without the one of that name.
    pub fn with(mut self, name: &str, value: Value) -> Token {
        self.claims[name] = value;
        self
    }

    pub fn signed(mut self, signed: Signed) -> Token {
        self.signed = signed;
        self
    }
}

struct Issued {
    token: Token,
    nonce: String,
    challenge: String,
    redirect: String,
}

#[derive(Default)]
struct State {
    manner: Manner,
    /// Whether its keys have changed.
    changed: bool,
    codes: HashMap<String, Issued>,
    /// How many requests have got no answer.
    silenced: usize,
    /// How often its metadata was requested.
    asked: usize,
    /// How many codes its token endpoint has received that it did not issue.
    invented: usize,
    /// The trace of the last token request.
    trace: Option<String>,
}

pub struct Provider {
    pub issuer: String,
    state: Arc<Mutex<State>>,
}

impl Provider {
    pub async fn start() -> Provider {
        Provider::behaving(Manner::Well).await
    }

    pub async fn behaving(manner: Manner) -> Provider {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let issuer = format!("http://{}", listener.local_addr().expect("an address"));
        let state = Arc::new(Mutex::new(State {
            manner,
            ..State::default()
        }));
        let provider = Provider {
            issuer: issuer.clone(),
            state: Arc::clone(&state),
        };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (state, issuer) = (Arc::clone(&state), issuer.clone());
                let answer =
                    service_fn(move |request| answer(Arc::clone(&state), issuer.clone(), request));
                let connection =
                    http1::Builder::new().serve_connection(TokioIo::new(stream), answer);
                tokio::spawn(async move { _ = connection.await });
            }
        });
        provider
    }

    /// A server that lets people sign in with it.
    pub fn server(&self, settings: &[(&str, &str)]) -> Option<Service> {
        let mut all = vec![
            ("INVOICING_OIDC_ISSUER", self.issuer.as_str()),
            ("INVOICING_OIDC_CLIENT_ID", CLIENT_ID),
            ("INVOICING_OIDC_CLIENT_SECRET", CLIENT_SECRET),
            ("INVOICING_OIDC_NAME", "Example ID"),
        ];
        all.extend_from_slice(settings);
        server_with(&all)
    }

    /// Signs in at the address that the service redirected to. Returns the address that leads back.
    pub fn comes_back(&self, url: &str, token: &Token) -> String {
        let asked = query(url);
        assert!(
            url.starts_with(&format!("{}/authorize?", self.issuer)),
            "{url}"
        );
        for (name, value) in [
            ("response_type", "code"),
            ("response_mode", "query"),
            ("client_id", CLIENT_ID),
            ("code_challenge_method", "S256"),
            ("redirect_uri", &format!("{ORIGIN}/sign-in/callback")),
        ] {
            assert_eq!(asked[name], value, "{url}");
        }
        assert!(asked["scope"].split(' ').any(|it| it == "openid"));
        let mut state = self.state.lock().expect("whole");
        let code = format!("code-{}", uuid::Uuid::new_v4());
        let issued = Issued {
            token: token.clone(),
            nonce: asked["nonce"].clone(),
            challenge: asked["code_challenge"].clone(),
            redirect: asked["redirect_uri"].clone(),
        };
        state.codes.insert(code.clone(), issued);
        format!("/sign-in/callback?code={code}&state={}", asked["state"])
    }

    /// From now on it signs with another key, and publishes only that.
    pub fn changes_its_key(&self) {
        let mut state = self.state.lock().expect("whole");
        state.changed = !state.changed;
    }

    pub fn behaves(&self, manner: Manner) {
        self.state.lock().expect("whole").manner = manner;
    }

    /// The `traceparent` of the last token request.
    pub fn trace(&self) -> Option<String> {
        self.state.lock().expect("whole").trace.clone()
    }

    pub fn invented(&self) -> usize {
        self.state.lock().expect("whole").invented
    }

    /// How many requests have got no answer.
    pub fn silenced(&self) -> usize {
        self.state.lock().expect("whole").silenced
    }

    pub fn asked(&self) -> usize {
        self.state.lock().expect("whole").asked
    }
}

/// The parameters of an address.
pub fn query(url: &str) -> HashMap<String, String> {
    let query = url.split_once('?').map_or("", |it| it.1);
    form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect()
}

type Answer = Response<Full<Bytes>>;

async fn answer(
    state: Arc<Mutex<State>>,
    issuer: String,
    request: Request<Incoming>,
) -> Result<Answer, Infallible> {
    let manner = state.lock().expect("whole").manner;
    match manner {
        Manner::Silent => {
            state.lock().expect("whole").silenced += 1;
            std::future::pending().await
        }
        Manner::Endless => return Ok(text(200, " ".repeat(8 * 1024 * 1024))),
        Manner::Redirecting => {
            let mut answer = text(302, String::new());
            let location = "http://127.0.0.1:1/".parse().expect("a header");
            answer.headers_mut().insert("location", location);
            return Ok(answer);
        }
        _ => {}
    }
    if request.uri().path() == "/token" {
        let trace = request.headers().get("traceparent");
        let trace = trace.map(|it| it.to_str().expect("ASCII").to_owned());
        state.lock().expect("whole").trace = trace;
    }
    Ok(match request.uri().path() {
        "/.well-known/openid-configuration" => {
            state.lock().expect("whole").asked += 1;
            let name = match manner {
                Manner::Impostor => "http://127.0.0.1:1",
                _ => issuer.as_str(),
            };
            let mut metadata = json!({
                "issuer": name,
                "authorization_endpoint": format!("{issuer}/authorize"),
                "token_endpoint": format!("{issuer}/token"),
                "jwks_uri": format!("{issuer}/keys"),
                "response_types_supported": ["code"],
                "subject_types_supported": ["public"],
                "claims_supported": ["sub", "auth_time"],
                "id_token_signing_alg_values_supported": ["RS256", "ES256", "none", "HS256"],
            });
            if manner == Manner::Promising {
                metadata["authorization_response_iss_parameter_supported"] = json!(true);
            }
            if manner == Manner::Reticent {
                metadata["claims_supported"] = json!(["sub"]);
            }
            if manner == Manner::SecretInBody {
                metadata["token_endpoint_auth_methods_supported"] = json!(["client_secret_post"]);
            }
            text(200, metadata.to_string())
        }
        "/keys" => text(200, keys(state.lock().expect("whole").changed).to_string()),
        "/token" if manner == Manner::BadGateway => text(502, "<html>Bad gateway".to_owned()),
        "/token" if manner == Manner::Empty => text(503, String::new()),
        "/token" if manner == Manner::Limiting => {
            text(429, json!({"error": "slow_down"}).to_string())
        }
        "/token" => exchange(&state, &issuer, request).await,
        _ => text(404, String::new()),
    })
}

async fn exchange(state: &Mutex<State>, issuer: &str, request: Request<Incoming>) -> Answer {
    let authorization = request.headers().get("authorization").cloned();
    let body = request.into_body().collect().await.expect("a body");
    let form: HashMap<String, String> = form_urlencoded::parse(&body.to_bytes())
        .into_owned()
        .collect();
    let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let basic = format!("{}:{}", encoded(CLIENT_ID), encoded(CLIENT_SECRET));
    let basic = format!("Basic {}", STANDARD.encode(basic));
    let mut state = state.lock().expect("whole");
    let proven = match state.manner {
        Manner::SecretInBody => {
            form.get("client_secret")
                .is_some_and(|it| it == CLIENT_SECRET)
                && authorization.is_none()
        }
        _ => {
            authorization.is_some_and(|it| it == basic.as_str())
                && !form.contains_key("client_secret")
        }
    };
    if !proven {
        return text(401, json!({"error": "invalid_client"}).to_string());
    }
    let issued = form.get("code").and_then(|code| state.codes.remove(code));
    let verifier = form.get("code_verifier").cloned().unwrap_or_default();
    let challenge = digest::digest(&digest::SHA256, verifier.as_bytes());
    let challenge = URL_SAFE_NO_PAD.encode(challenge);
    let fits =
        |it: &Issued| it.challenge == challenge && Some(&it.redirect) == form.get("redirect_uri");
    match issued.filter(fits) {
        Some(issued) => {
            let token = id_token(issuer, &issued);
            let answer = json!({"access_token": "x", "token_type": "Bearer", "id_token": token});
            text(200, answer.to_string())
        }
        None => {
            state.invented += 1;
            let error = match form.get("code").is_some_and(|it| it.starts_with("odd")) {
                true => "invalid_request",
                false => "invalid_grant",
            };
            text(400, json!({ "error": error }).to_string())
        }
    }
}

fn text(status: u16, text: String) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(text)));
    *answer.status_mut() = status.try_into().expect("a status");
    let json = "application/json".parse().expect("a header");
    answer.headers_mut().insert("content-type", json);
    answer
}

fn keys(changed: bool) -> Value {
    let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let ec = EC[usize::from(changed)].public_key().as_ref();
    let rsa = RSA.public_key();
    json!({"keys": [
        {
            "kty": "EC", "crv": "P-256", "use": "sig", "kid": format!("ec-{changed}"), "alg": "ES256",
            "x": encode(&ec[1..33]), "y": encode(&ec[33..]),
        },
        {
            "kty": "RSA", "use": "sig", "kid": "rsa",
            "n": encode(rsa.modulus().big_endian_without_leading_zero()),
            "e": encode(rsa.exponent().big_endian_without_leading_zero()),
        },
    ]})
}

/// Seconds since 1970.
pub fn now() -> i64 {
    chrono::Utc::now().timestamp()
}

fn id_token(issuer: &str, issued: &Issued) -> String {
    let mut claims = json!({
        "iss": issuer, "aud": CLIENT_ID, "iat": now(), "exp": now() + 300, "nonce": issued.nonce,
    });
    for (name, value) in issued.token.claims.as_object().expect("claims") {
        claims[name] = value.clone();
    }
    claims
        .as_object_mut()
        .expect("claims")
        .retain(|_, value| !value.is_null());
    let (alg, kid) = match issued.token.signed {
        Signed::Rs256 => ("RS256", "rsa"),
        Signed::Es256 | Signed::Forged => ("ES256", "ec-false"),
        Signed::Es256Next => ("ES256", "ec-true"),
        Signed::Not => ("none", "ec-false"),
        Signed::HsOfPublicKey | Signed::HsOfClientSecret => ("HS256", "rsa"),
    };
    let encode = |it: Value| URL_SAFE_NO_PAD.encode(it.to_string());
    let header = encode(json!({"alg": alg, "kid": kid, "typ": "JWT"}));
    let message = format!("{header}.{}", encode(claims));
    let random = SystemRandom::new();
    let by_ec = |key: &EcdsaKeyPair| {
        let signature = key.sign(&random, message.as_bytes());
        signature.expect("it signs").as_ref().to_vec()
    };
    let by_secret = |key: &[u8]| {
        let key = hmac::Key::new(hmac::HMAC_SHA256, key);
        hmac::sign(&key, message.as_bytes()).as_ref().to_vec()
    };
    let signature = match issued.token.signed {
        Signed::Es256 => by_ec(&EC[0]),
        Signed::Es256Next | Signed::Forged => by_ec(&EC[1]),
        Signed::Rs256 => {
            let mut signature = vec![0; RSA.public_modulus_len()];
            RSA.sign(
                &RSA_PKCS1_SHA256,
                &random,
                message.as_bytes(),
                &mut signature,
            )
            .expect("it signs");
            signature
        }
        Signed::Not => Vec::new(),
        Signed::HsOfPublicKey => by_secret(RSA.public_key().as_der().expect("DER").as_ref()),
        Signed::HsOfClientSecret => by_secret(CLIENT_SECRET.as_bytes()),
    };
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
}
