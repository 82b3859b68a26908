//! A passkey, as an authenticator and a browser implement it together: it answers the options of a page as
//! JSON (WebAuthn Level 3), or lies where a test makes it lie.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

const USER_PRESENT: u8 = 1;
const USER_VERIFIED: u8 = 1 << 2;
const ATTESTED: u8 = 1 << 6;
const EXTENDED: u8 = 1 << 7;

/// A passkey; tests may change what it claims.
pub struct Passkey {
    key: EcdsaKeyPair,
    /// Its credential id.
    pub id: Vec<u8>,
    /// The user it belongs to.
    pub user_handle: String,
    /// The host that it is for.
    pub rp_id: String,
    /// The origin that the browser reports.
    pub origin: String,
    /// The signature counter; always zero if it does not count.
    pub count: u32,
    /// Whether it verifies its user.
    pub is_verified: bool,
    /// Whether it adds, unasked, data on a secret besides its key (CTAP 2.2, `hmac-secret`).
    pub tells_secret: bool,
}

/// In the map of an attestation object: none.
const UNATTESTED: &[u8] = b"\x63fmt\x64none\x67attStmt\xa0";

impl Passkey {
    /// Makes a passkey as the options of a page ask, and the browser's answer.
    pub fn make(options: &str, origin: &str) -> (Passkey, String) {
        let options = parse(options);
        let random = uuid::Uuid::new_v4();
        let passkey = Passkey {
            key: EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).expect("a key"),
            id: random.as_bytes().to_vec(),
            user_handle: text(&options["user"]["id"]),
            rp_id: text(&options["rp"]["id"]),
            origin: origin.to_owned(),
            count: 0,
            is_verified: true,
            tells_secret: false,
        };
        let answer = passkey.registered(&options, &passkey.cose_key(), UNATTESTED);
        (passkey, answer)
    }

    /// The browser's answer for the same passkey to options that ask for a new one.
    pub fn register(&self, options: &str) -> String {
        self.registered(&parse(options), &self.cose_key(), UNATTESTED)
    }

    /// The same for a key that never signs anything, in COSE.
    pub fn register_key(&self, options: &str, key: &[u8]) -> String {
        self.registered(&parse(options), key, UNATTESTED)
    }

    /// The same for an RSA key with a modulus of this many bytes, said to be attested by the key itself.
    pub fn register_attested_rsa(&self, options: &str, modulus: u16) -> String {
        let statement = [
            &b"\x63fmt\x66packed\x67attStmt\xa2\x63alg\x39\x01\x00\x63sig\x59"[..],
            &modulus.to_be_bytes(),
            &vec![0x7f; usize::from(modulus)],
        ];
        self.registered(
            &parse(options),
            &rsa_key(modulus, 65_537),
            &statement.concat(),
        )
    }

    fn registered(&self, options: &Value, key: &[u8], attestation: &[u8]) -> String {
        let length = u16::try_from(self.id.len()).expect("it is short");
        let attested = [&[0; 16][..], &length.to_be_bytes(), &self.id, key].concat();
        let data = self.authenticator_data(ATTESTED, &attested, b"\xf5");
        let length = u16::try_from(data.len()).expect("it is short");
        // A map of three. A length that takes one byte is written in one.
        let mut object = [b"\xa3", attestation, b"\x68authData"].concat();
        match u8::try_from(length) {
            Ok(length) => object.extend([0x58, length]),
            Err(_) => {
                object.push(0x59);
                object.extend(length.to_be_bytes());
            }
        }
        object.extend(&data);
        let client_data = self.client_data("webauthn.create", options);
        self.credential(&json!({
            "clientDataJSON": encode(client_data.as_bytes()),
            "attestationObject": encode(&object),
            "transports": ["internal"],
        }))
    }

    /// What the browser answers to options that ask for a signature.
    pub fn sign(&self, options: &str) -> String {
        let client_data = self.client_data("webauthn.get", &parse(options));
        let secret = [&b"\x58\x30"[..], &[7; 48]].concat();
        let data = self.authenticator_data(0, &[], &secret);
        let signed = [&data, digest(&SHA256, client_data.as_bytes()).as_ref()].concat();
        let signature = self.key.sign(&SystemRandom::new(), &signed);
        self.credential(&json!({
            "clientDataJSON": encode(client_data.as_bytes()),
            "authenticatorData": encode(&data),
            "signature": encode(signature.expect("a signature").as_ref()),
            "userHandle": self.user_handle,
        }))
    }

    fn credential(&self, response: &Value) -> String {
        let id = encode(&self.id);
        json!({
            "id": id, "rawId": id, "type": "public-key", "response": response,
            "clientExtensionResults": {}, "authenticatorAttachment": "platform",
        })
        .to_string()
    }

    fn client_data(&self, kind: &str, options: &Value) -> String {
        let (challenge, origin) = (&options["challenge"], &self.origin);
        json!({ "type": kind, "challenge": challenge, "origin": origin, "crossOrigin": false })
            .to_string()
    }

    fn authenticator_data(&self, flags: u8, attested: &[u8], secret: &[u8]) -> Vec<u8> {
        let verified = if self.is_verified { USER_VERIFIED } else { 0 };
        let (extended, extensions) = match self.tells_secret {
            true => (EXTENDED, [b"\xa1\x6bhmac-secret", secret].concat()),
            false => (0, Vec::new()),
        };
        let flags = [USER_PRESENT | verified | extended | flags];
        let host = digest(&SHA256, self.rp_id.as_bytes());
        let count = self.count.to_be_bytes();
        [host.as_ref(), &flags, &count, attested, &extensions].concat()
    }

    /// RFC 9053, 7.1.1: ES256 on P-256, x and y.
    fn cose_key(&self) -> Vec<u8> {
        let point = self.key.public_key().as_ref();
        let (x, y) = (&point[1..33], &point[33..]);
        [
            &b"\xa5\x01\x02\x03\x26\x20\x01\x21\x58\x20"[..],
            x,
            b"\x22\x58\x20",
            y,
        ]
        .concat()
    }
}

fn parse(options: &str) -> Value {
    serde_json::from_str(options).expect("options are JSON")
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// RFC 8230, 4: RS256, n of this many bytes, and e of three or four.
pub fn rsa_key(modulus: u16, exponent: u32) -> Vec<u8> {
    let exponent = match exponent.to_be_bytes() {
        [0, short @ ..] => [&b"\x21\x43"[..], &short].concat(),
        long => [&b"\x21\x44"[..], &long].concat(),
    };
    [
        &b"\xa4\x01\x03\x03\x39\x01\x00\x20\x59"[..],
        &modulus.to_be_bytes(),
        &vec![0xff; usize::from(modulus)],
        &exponent,
    ]
    .concat()
}

/// RFC 9053, 7.1.1: ES384 on P-384, x and y.
pub fn p384_key() -> Vec<u8> {
    let key = EcdsaKeyPair::generate(&ECDSA_P384_SHA384_ASN1_SIGNING).expect("a key");
    let (x, y) = key.public_key().as_ref()[1..].split_at(48);
    [
        &b"\xa5\x01\x02\x03\x38\x22\x20\x02\x21\x58\x30"[..],
        x,
        b"\x22\x58\x30",
        y,
    ]
    .concat()
}
