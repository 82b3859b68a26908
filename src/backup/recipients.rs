//! The keys of a backup: public ones to encrypt it, secret ones to open it.

use std::path::Path;
use std::str::FromStr;

use age::x25519::Recipient;
use age::{Encryptor, Identity, IdentityFile};

use super::error::BackupError;
use crate::domain::Cause;

/// Public keys of [age](https://age-encryption.org), separated by commas; the holder of any one of them can open the backup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recipients(Vec<Recipient>);

impl Recipients {
    /// Encrypts to all of them; `None` for a backup in clear.
    ///
    /// # Errors
    /// None that a caller would meet: keys of this kind go together.
    pub(super) fn encryptor(&self) -> Result<Option<Encryptor>, Cause> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let recipients = self.0.iter().map(|it| it as &dyn age::Recipient);
        Ok(Some(Encryptor::with_recipients(recipients)?))
    }

    /// Whether there are none, so that a backup is in clear.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromStr for Recipients {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let recipients = text.split(',').map(|key| key.trim().parse());
        // The text is not repeated: it may be the secret key.
        recipients.collect::<Result<_, _>>().map(Self).map_err(|_| {
            "not a public key of age; write age1..., which `age-keygen` prints as \"Public key\"".to_owned()
        })
    }
}

/// The secret keys in a file as `age-keygen` writes it.
///
/// # Errors
/// [`BackupError::Identity`].
pub(super) fn identities(path: &Path) -> Result<Vec<Box<dyn Identity + Send + Sync>>, BackupError> {
    let failed = |source: Cause| BackupError::Identity {
        path: path.to_owned(),
        source,
    };
    let file = std::fs::File::open(path).map_err(|error| failed(error.into()))?;
    let read = IdentityFile::from_buffer(std::io::BufReader::new(file));
    let identities = read
        .map_err(|error| failed(error.into()))?
        .into_identities();
    match identities.map_err(|error| failed(error.into()))? {
        none if none.is_empty() => Err(failed("there is no key in it".into())),
        identities => Ok(identities),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipients_are_public_keys_with_commas_between() {
        let [one, other] = [(), ()].map(|()| age::x25519::Identity::generate().to_public());
        let both: Recipients = format!("{one}, {other}").parse().unwrap();
        assert_eq!(both, Recipients(vec![one, other]));
        assert!("".parse::<Recipients>().unwrap().is_empty());
    }

    #[test]
    fn what_is_no_public_key_is_refused_and_not_repeated() {
        use age::secrecy::ExposeSecret as _;
        let secret = age::x25519::Identity::generate().to_string();
        for text in [
            secret.expose_secret(),
            "age1abc",
            "ada@example.com",
            "age1x,",
        ] {
            let said = text.parse::<Recipients>().expect_err(text);
            assert!(
                said.contains("age-keygen") && !said.contains(text),
                "{said}"
            );
        }
    }
}
