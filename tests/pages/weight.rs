//! How much a browser loads.

use crate::browser::server;
use crate::products::add;
use crate::team::{signed_in, team};

/// The most bytes of a page with all that it loads (docs/decisions.md, W31).
const MOST: usize = 60 * 1024;

#[tokio::test]
async fn a_page_takes_less_than_sixty_kilobytes_with_all_that_it_loads() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut browser = signed_in(&service, &team, "owner").await;
    let products = format!("/teams/{team}/products");
    let mut loaded = 0;
    for asset in ["style.css", "page.js", "icon.svg"] {
        let asset = browser.get(&format!("/assets/{asset}")).await;
        assert_eq!(asset.status(), 200);
        loaded += asset.0.body.len();
    }
    // As many as a page has.
    for number in 0..50 {
        let name = format!("A desk lamp of brass with a green shade, model {number}");
        let sku = format!("LAMP-{number}");
        let fields = [("name", name.as_str()), ("sku", &sku), ("taxRate", "19")];
        let page = add(&mut browser, &format!("{products}/new"), &fields).await;
        assert_eq!(page.status(), 200, "{page:?}");
    }
    let settings = format!("/teams/{team}/settings");
    for path in [
        &products,
        &format!("{products}/new"),
        &format!("{products}/import"),
        &format!("/teams/{team}/links"),
        &format!("{settings}/integrations/api-keys"),
        &format!("{settings}/members"),
        &format!("{settings}/audit"),
        "/account",
        "/account/devices",
        "/sign-in?anew=1",
    ] {
        let page = browser.get(path).await;
        assert_eq!(page.status(), 200, "{path}");
        let bytes = page.0.body.len() + loaded;
        assert!(bytes < MOST, "{path}: {bytes} bytes");
    }
}
