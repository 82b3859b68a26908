//! Rules across several settings: combinations that are refused, and values that follow from several.

use http::HeaderValue;
use openapi_dropshot_runtime::header_value;

use super::{MailSettings, Oidc, Origin, Settings, TlsFiles, Toggle};
use crate::domain::passkey::RelyingParty;
use crate::domain::ways_to_sign_in::SwitchedOn;

impl Settings {
    /// Checks combinations of settings that only a server cares about.
    ///
    /// # Errors
    /// When two settings contradict each other; the text names both.
    pub fn check_for_serving(&self) -> Result<(), clap::Error> {
        let refused = |why| clap::Error::raw(clap::error::ErrorKind::MissingRequiredArgument, why);
        self.check_together().map_err(refused)
    }

    fn check_together(&self) -> Result<(), &'static str> {
        if self.tls_cert.is_some() != self.tls_key.is_some() {
            return Err(
                "tls_cert and tls_key go together: give both (--tls-cert FILE --tls-key FILE) or neither\n",
            );
        }
        if self.hsts > 0 && self.tls_cert.is_none() {
            return Err(
                "hsts is for a server that speaks TLS: give tls_cert and tls_key too (--tls-cert FILE --tls-key FILE), \
                 or leave it to the proxy in front\n",
            );
        }
        if self.smtp_url.is_some() != self.mail_from.is_some() {
            return Err(
                "smtp_url and mail_from go together: give both (INVOICING_SMTP_URL and --mail-from ADDRESS) or neither\n",
            );
        }
        self.check_sign_in()
    }

    /// Refuses an incomplete provider, and a server where no one could sign in.
    fn check_sign_in(&self) -> Result<(), &'static str> {
        let given = [
            self.oidc_issuer.is_some(),
            self.oidc_client_id.is_some(),
            self.oidc_client_secret.is_some(),
        ];
        let (any, all) = (given.contains(&true), !given.contains(&false));
        if (any && !all) || (self.oidc_name.is_some() && !any) {
            return Err(
                "oidc_issuer, oidc_client_id and oidc_client_secret go together: give all three or none; oidc_name is for \
                 them\n",
            );
        }
        if any && !self.origin().is_some_and(|it| it.may_sign_in()) {
            return Err(
                "oidc_issuer is for the pages, and there are none: give origin (--origin https://invoices.example.com)\n",
            );
        }
        if self.switched_on().is_none() {
            return Err(
                "password_sign_in is off, and there is no other way to sign in: give oidc_issuer, oidc_client_id and \
                 oidc_client_secret, or an origin with a host name, at which there are passkeys, or let it be on\n",
            );
        }
        Ok(())
    }

    /// The settings for sending mail, if mail is configured.
    pub fn mail(&self) -> Option<MailSettings<'_>> {
        let (server, from) = self.smtp_url.as_ref().zip(self.mail_from.as_ref())?;
        Some(MailSettings { server, from })
    }

    /// The OpenID provider, if there is one.
    pub fn oidc(&self) -> Option<Oidc> {
        let issuer = self.oidc_issuer.clone()?;
        Some(Oidc {
            client_id: self.oidc_client_id.clone()?,
            client_secret: self.oidc_client_secret.clone()?,
            name: match &self.oidc_name {
                Some(name) => name.clone(),
                None => issuer.host().to_owned(),
            },
            issuer,
        })
    }

    /// Which ways to sign in are switched on.
    pub fn switched_on(&self) -> SwitchedOn {
        let origin = self.origin().filter(Origin::may_sign_in);
        SwitchedOn {
            password: self.password_sign_in == Toggle::On,
            relying_party: origin.and_then(|it| RelyingParty::of(it.as_str())),
            issuer: self.oidc().map(|it| it.issuer.as_str().to_owned()),
        }
    }

    /// The origin of the pages, if there are any.
    pub fn origin(&self) -> Option<Origin> {
        let of_links = || Origin::of(&self.public_url);
        self.origin.clone().or_else(of_links)
    }

    /// `transfer_memory` in bytes.
    pub fn transfer_bytes(&self) -> usize {
        // The setting is bounded so that it fits 64 bits; a machine with fewer has no more memory either.
        usize::try_from(u64::from(self.transfer_memory) << 20).unwrap_or(usize::MAX)
    }

    /// The certificate and key for TLS; `None` for a server in clear.
    pub fn tls(&self) -> Option<TlsFiles<'_>> {
        match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => Some(TlsFiles { certificate, key }),
            _ => None,
        }
    }

    /// The value of `Strict-Transport-Security`, if it is sent.
    pub fn hsts(&self) -> Option<HeaderValue> {
        let told = self.hsts > 0 && self.tls().is_some();
        told.then(|| header_value(format_args!("max-age={}", self.hsts)))
    }
}
