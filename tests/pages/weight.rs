//! How much a browser loads, and how long a page takes.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::browser::server;
use crate::products::add;
use crate::team::{signed_in, team};

/// The most bytes of a page with everything that it loads (docs/decisions.md, W31).
pub const MOST: usize = 60 * 1024;

/// The longest time that a page may take, in microseconds (the same).
const LONGEST: u64 = 5_000;

/// How often each page is requested at most. Other tests run at the same time, so the fastest request shows what a page
/// takes, and no more are needed once each was fast enough.
const ROUNDS: usize = 200;

#[tokio::test]
async fn a_page_takes_less_than_sixty_kilobytes_with_all_that_it_loads_and_five_milliseconds() {
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
    // As many as fit on a page.
    for number in 0..50 {
        let name = format!("A desk lamp of brass with a green shade, model {number}");
        let sku = format!("LAMP-{number}");
        let fields = [("name", name.as_str()), ("sku", &sku), ("taxRate", "19")];
        let page = add(&mut browser, &format!("{products}/new"), &fields).await;
        assert_eq!(page.status(), 200, "{page:?}");
    }
    let settings = format!("/teams/{team}/settings");
    let paths = [
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
    ];
    for path in paths {
        let page = browser.get(path).await;
        assert_eq!(page.status(), 200, "{path}");
        let bytes = page.0.body.len() + loaded;
        assert!(bytes < MOST, "{path}: {bytes} bytes");
    }
    // Not one page after another: a moment in which the machine is slow then slows each of them once.
    let mut fastest = fastest_of(&service.log());
    for _ in 0..ROUNDS {
        if fastest.len() == paths.len() && fastest.values().all(|&it| it < LONGEST) {
            break;
        }
        for path in &paths {
            browser.get(path).await;
        }
        fastest = fastest_of(&service.log());
    }
    assert_eq!(fastest.len(), paths.len(), "{fastest:?}");
    assert!(fastest.values().all(|&it| it < LONGEST), "{fastest:?}");
}

/// The microseconds of the fastest request of each page by its route, by what `log` says.
fn fastest_of(log: &str) -> BTreeMap<String, u64> {
    let mut fastest = BTreeMap::new();
    for line in log.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        if let (Some(route), Some(took)) = (line["route"].as_str(), line["latency_us"].as_u64())
            && line["method"] == "GET"
            && line["status"] == 200
            && !route.starts_with("/assets/")
        {
            let fastest = fastest.entry(route.to_owned()).or_insert(took);
            *fastest = took.min(*fastest);
        }
    }
    fastest
}
