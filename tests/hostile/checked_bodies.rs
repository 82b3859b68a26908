//! Bodies that take long to check: others must not wait behind all that arrived at once.

use std::time::Duration;

use test_support::given;
use test_support::service::Service;

use crate::BINARY;
use crate::attack::{self, Request, Target, bodies};
use crate::others::Others;

/// As many at once as keep all threads busy for seconds.
const CONNECTIONS: u32 = 400;

/// How long the attack lasts.
const GOES_ON: Duration = Duration::from_secs(5);

/// How many bodies are checked meanwhile at least, so that it is an attack at all.
const CHECKED: usize = 50;

/// How long half of the gets of others may take meanwhile: much less than it takes to check all that arrives at once.
const CALM: Duration = Duration::from_millis(250);

/// As long as a body may be, and none takes longer to check.
fn unknown_members() -> String {
    let members = (0..5_400).map(|number| format!(r#""\n{number:04}":{{}}"#));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

#[tokio::test]
async fn bodies_of_one_team_that_take_long_to_check_cost_others_nothing() {
    let _turn = attack::turn().await;
    let service = given!(Service::own(BINARY, &[]));
    let others = given!(Others::of(&service).await);
    let target = Target::new(service.caller.base_url());
    let team = given!(service.team());
    let mut floods = Vec::new();
    for _ in 0..4 {
        let key = given!(service.api_key(&team.id, "live", "read-write"));
        let create = Request::create(&key);
        floods.push(bodies::again_and_again(
            &target,
            &create,
            &unknown_members(),
            CONNECTIONS / 4,
        ));
    }
    let half = others.get_for(GOES_ON).await;
    assert!(half <= CALM, "half of the gets took up to {half:?}");
    let answers = floods.into_iter().map(bodies::Flood::end).sum::<usize>();
    println!("{answers} bodies were checked");
    assert!(answers >= CHECKED, "the attack has not begun");
}

#[tokio::test]
async fn bodies_of_strangers_that_take_long_to_check_cost_others_nothing() {
    let _turn = attack::turn().await;
    let service = given!(Service::own(BINARY, &[]));
    let others = given!(Others::of(&service).await);
    let target = Target::new(service.caller.base_url());
    let flood =
        bodies::again_and_again(&target, &Request::token(), &unknown_members(), CONNECTIONS);
    let half = others.get_for(GOES_ON).await;
    assert!(half <= CALM, "half of the gets took up to {half:?}");
    let answers = flood.end();
    println!("{answers} bodies were checked");
    assert!(answers >= CHECKED, "the attack has not begun");
}
