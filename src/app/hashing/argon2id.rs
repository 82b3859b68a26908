//! The crate's Argon2id, in memory that the thread keeps for its next hash.
//!
//! A hash made by the crate itself maps 19 MiB and unmaps them each time. For either, the system stops every thread of the
//! process, all the more so if the hashing thread has to wait for a core in between.

use std::cell::RefCell;

use argon2::password_hash::phc::{Output, ParamsString, PasswordHash, Salt};
use argon2::password_hash::{Result, try_generate_salt};
use argon2::{Algorithm, Argon2, Block, CustomizedPasswordHasher, Params, Version};

thread_local! {
    static MEMORY: RefCell<Vec<Block>> = const { RefCell::new(Vec::new()) };
}

/// Hashes passwords, and verifies them through the blanket `PasswordVerifier` of all hashers.
pub(super) struct Argon2id;

impl Argon2id {
    /// The hash of a password with a new salt, by the crate's parameters.
    ///
    /// # Errors
    /// When the system has no random bytes, or the password is 4 GiB long.
    pub(super) fn hash(&self, password: &[u8]) -> Result<PasswordHash> {
        self.hash_password_with_params(password, &try_generate_salt()?, Params::default())
    }
}

impl CustomizedPasswordHasher<PasswordHash> for Argon2id {
    type Params = Params;

    fn hash_password_customized(
        &self,
        password: &[u8],
        salt: &[u8],
        algorithm: Option<&str>,
        version: Option<u32>,
        params: Params,
    ) -> Result<PasswordHash> {
        let algorithm = algorithm.map_or(Ok(Algorithm::default()), Algorithm::try_from)?;
        let version = version.map_or(Ok(Version::default()), Version::try_from)?;
        let salt = Salt::new(salt)?;
        let mut output = vec![0; params.output_len().unwrap_or(Params::DEFAULT_OUTPUT_LEN)];
        let argon2 = Argon2::new(algorithm, version, params);
        MEMORY.with_borrow_mut(|memory| {
            memory.resize(argon2.params().block_count(), Block::default());
            argon2.hash_password_into_with_memory(password, &salt, &mut output, memory)
        })?;
        Ok(PasswordHash {
            algorithm: algorithm.ident(),
            version: Some(version.into()),
            params: ParamsString::try_from(argon2.params())?,
            salt: Some(salt),
            hash: Some(Output::new(&output)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use argon2::{PasswordHasher, PasswordVerifier};

    use super::*;

    #[test]
    fn what_it_hashes_the_crate_verifies_and_the_other_way_round() {
        let ours = Argon2id.hash(b"tulip").unwrap();
        let theirs = Argon2::default().hash_password(b"tulip").unwrap();
        for hash in [&ours, &theirs] {
            assert!(Argon2::default().verify_password(b"tulip", hash).is_ok());
            assert!(Argon2id.verify_password(b"tulip", hash).is_ok());
            assert!(Argon2::default().verify_password(b"Tulip", hash).is_err());
            assert!(Argon2id.verify_password(b"Tulip", hash).is_err());
        }
        assert_eq!(
            (ours.algorithm, ours.version, ours.params),
            (theirs.algorithm, theirs.version, theirs.params)
        );
        assert_ne!(ours.salt, theirs.salt);
    }

    #[test]
    fn hashes_of_other_parameters_verify_one_after_the_other() {
        for blocks in [64, 8, 128] {
            let params = Params::new(blocks, 1, 1, Some(16)).unwrap();
            let argon2 = Argon2::new(Algorithm::Argon2i, Version::V0x10, params);
            let hash = argon2.hash_password(b"tulip").unwrap();
            assert!(
                Argon2id.verify_password(b"tulip", &hash).is_ok(),
                "{blocks}"
            );
            assert!(
                Argon2id.verify_password(b"tulips", &hash).is_err(),
                "{blocks}"
            );
        }
    }

    #[test]
    fn the_memory_is_kept() {
        let hash = || {
            Argon2id.hash(b"tulip").unwrap();
            MEMORY.with_borrow(|memory| (memory.as_ptr(), memory.len()))
        };
        assert_eq!(hash(), hash());
    }
}
