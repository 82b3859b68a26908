//! The settings page: the arguments of [`Settings`](super::Settings) as Markdown.

use std::fmt::Write;

/// The page, made from the struct; `src/settings/page.md` holds the same text, as a test checks.
pub fn markdown() -> String {
    let mut page = String::from(
        "# Settings\n\n\
         A setting is taken from the command line, otherwise from its variable, otherwise from the TOML\n\
         file that `--config` or `INVOICING_CONFIG` names, otherwise from its default.\n\n\
         ```toml\n\
         listen = \"0.0.0.0:8443\"\n\
         tls_cert = \"/etc/invoicing/cert.pem\"\n\
         tls_key = \"/etc/invoicing/key.pem\"\n\
         trusted_proxies = [\"10.0.0.0/8\"]\n\
         rate_limit_burst = 500\n\
         ```\n",
    );
    for arg in super::sources::arguments() {
        let text = |value: Option<&std::ffi::OsStr>| {
            value
                .map(|value| value.to_string_lossy().into_owned())
                .unwrap_or_default()
        };
        let default = text(
            arg.get_default_values()
                .first()
                .map(clap::builder::OsStr::as_os_str),
        );
        let default = if default.is_empty() {
            "none".to_owned()
        } else {
            format!("`{default}`")
        };
        let help = arg
            .get_long_help()
            .or(arg.get_help())
            .map(ToString::to_string);
        // Writing to a String cannot fail.
        let _ = write!(
            page,
            "\n## `{}`\n\n{}\n\nOption `--{}`, variable `{}`, default {}.\n",
            arg.get_id(),
            help.unwrap_or_default(),
            arg.get_long().unwrap_or_default(),
            text(arg.get_env()),
            default,
        );
    }
    page
}

#[cfg(test)]
mod tests {
    /// `BLESS=1 cargo test settings_page` rewrites the page.
    #[test]
    fn the_settings_page_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/settings/page.md");
        let page = super::markdown();
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(path, &page).unwrap();
        }
        let written = std::fs::read_to_string(path).unwrap();
        assert!(
            written == page,
            "{path} is stale: run BLESS=1 cargo test settings_page"
        );
    }
}
