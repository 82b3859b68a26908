//! How open and composed schemas behave: the check and the types of both sides say the same of each value.

use openapi_dropshot_runtime::json::parse;
use openapi_dropshot_runtime::schema::check;
use openapi_dropshot_runtime::{Any, Field};

use crate::client::{composed as client, named as client_named, open as client_open};
use crate::union_types::passes;
use crate::{composed as server, limited, named, open};

/// Holds texts against a schema and the two types made of it.
macro_rules! hold {
    ($server:ident, $client:ident, $name:ident, $($text:expr => $good:expr),* $(,)?) => {$(
        let (text, schema) = (&$text, &$server::schemas::$name);
        assert_eq!(passes::<$server::types::$name>(schema, text), $good, "server: {text}");
        assert_eq!(passes::<$client::types::$name>(schema, text), $good, "client: {text}");
    )*};
}

fn told(schema: &openapi_dropshot_runtime::schema::Schema, text: &str) -> String {
    let violations = check(schema, &parse(text.as_bytes()).unwrap());
    let all = violations.iter();
    let all: Vec<_> = all
        .map(|it| format!("{} {}", it.path, it.constraint))
        .collect();
    all.join(", ")
}

#[test]
fn any_value_keeps_its_text_and_is_told_from_none() {
    hold!(open, client_open, Thing,
        r#"{"any":null,"free":{}}"# => true,
        r#"{"any":{"b":[1.10,-0.0,1e400],"a":"é\n"},"spare":null,"free":{"x":null}}"# => true,
        r#"{"any":0.1000000000000000055511151231257827,"free":{},"free_values":null}"# => true,
        r#"{"any":1,"named":null,"free":{},"several":[null,1,"1"],"by_name":{"":null}}"# => true,
        r#"{"any":1,"free":{},"empty":{},"digest":"not hex","encoded":"aGk=","moment":-1,"share":0.10,"mode":"fast"}"# => true,
        r#"{"free":{}}"# => false,
        r#"{"any":1,"free":[]}"# => false,
        r#"{"any":1,"free":{},"empty":{"x":1}}"# => false,
        r#"{"any":1,"free":{},"encoded":"aGk"}"# => false,
        r#"{"any":1,"free":{},"encoded":"aGk=\n"}"# => false,
        r#"{"any":1,"free":{},"mode":"medium"}"# => false,
        r#"{"any":1,"free":{},"moment":0.5}"# => false,
        r#"{"any":1,"free":{},"never":1}"# => false,
    );
    let text = r#"{"any":1,"free":{},"several":[1.0,1]}"#;
    assert_eq!(told(&open::schemas::Thing, text), "/several uniqueItems");
    let text = r#"{"any":1,"free":{},"never":null}"#;
    assert_eq!(told(&open::schemas::Thing, text), "/never not");
    let thing: open::types::Thing =
        serde_json::from_str(r#"{"any":[ 1 ],"free":{},"spare":null}"#).unwrap();
    assert_eq!(
        (thing.any.as_str(), thing.spare),
        ("[1]", Some(Any::default()))
    );
}

#[test]
fn a_body_may_be_of_any_kind() {
    hold!(open, client_open, Document, "null" => true, "[1.0]" => true);
}

#[test]
fn an_object_of_several_parts_has_the_members_of_all() {
    hold!(server, client, Pet,
        r#"{"name":"Rex","tag":"t","kind":"dog","notes":"n","id":1}"# => true,
        r#"{"name":"Rex","tag":"t","notes":"n","id":1}"# => true,
        r#"{"name":"Rexxxx","tag":"t","notes":"n","id":1}"# => false,
        r#"{"name":"Rex","tag":"t","kind":"cow","notes":"n","id":1}"# => false,
        r#"{"name":"Rex","tag":"t","notes":1,"id":1}"# => false,
        r#"{"name":"Rex","notes":"n","id":1}"# => false,
        r#"{"tag":"t","notes":"n","id":1}"# => false,
    );
    hold!(server, client, Copy, r#"{"name":"Rex","tag":"t","notes":"n","id":1}"# => true, "{}" => false);
    hold!(server, client, Word, r#""ab""# => true, r#""a""# => false);
}

#[test]
fn members_beside_a_list_belong_to_each_alternative() {
    hold!(server, client, Event,
        r#"{"at":1,"type":"moved","from":"f"}"# => true,
        r#"{"at":1,"by":{"name":"Rex"},"type":"groomed"}"# => true,
        r#"{"at":1,"type":"born","weight":1.50}"# => true,
        r#"{"at":1,"type":"moved"}"# => false,
        r#"{"type":"moved","from":"f"}"# => false,
        r#"{"at":"1","type":"fed"}"# => false,
        r#"{"at":1,"type":"lost"}"# => false,
    );
    hold!(server, client, Choice,
        r#"{"a":"1"}"# => true,
        r#"{"b":"1"}"# => true,
        r#"{"a":"1","b":"2"}"# => true,
        "{}" => false,
        r#"{"a":"1","b":2}"# => false,
    );
}

#[test]
fn a_discriminator_has_to_be_there_and_leads_by_values_or_names() {
    let account = |holder: &str, owner: &str| format!(r#"{{"holder":{holder},"owner":{owner}}}"#);
    let (bank, person) = (r#"{"type":"bank","code":"c"}"#, r#"{"kind":"Person"}"#);
    hold!(server, client, Account,
        account(bank, person) => true,
        account(r#"{"type":"wallet"}"#, r#"{"kind":"guild"}"#) => true,
        account(r#"{"code":"c"}"#, person) => false,
        account("{}", person) => false,
        account(bank, r#"{"kind":"firm","secret":1}"#) => false,
        account(bank, r#"{"kind":"Firm"}"#) => false,
    );
    hold!(server, client, Bank, r#"{"code":"c"}"# => true);
}

#[test]
fn what_nothing_tells_apart_is_told_by_trial() {
    hold!(server, client, Net,
        r#""1.2.3.4/8""# => true,
        r#""a::/8""# => true,
        r#""x""# => false,
        // Both patterns match.
        r#""1/8""# => false,
        "1" => false,
    );
    hold!(server, client, Range,
        r#"{"first":"192.0.2.1"}"# => true,
        r#"{"first":"::1","note":"n"}"# => true,
        r#"{"first":"old","note":null}"# => true,
        r#"{"note":null}"# => true,
        // Null is not the same as absent, which alone two alternatives would admit.
        r#"{"first":"::1","note":null}"# => false,
        r#"{"first":"other"}"# => false,
        "{}" => false,
    );
    hold!(server, client, Outer,
        r#"{"range":{"first":"::1"}}"# => true,
        r#"{"net":"1.2.3.4/8"}"# => true,
        r#"{"net":"1/8"}"# => false,
    );
    let text = r#""1/8""#;
    assert_eq!(told(&server::schemas::Net, text), " oneOf");
    let net: server::types::Net = serde_json::from_str(r#""a::/8""#).unwrap();
    assert!(matches!(net, server::types::Net::Net6(_)));
}

#[test]
fn the_first_that_fits_is_meant_where_several_may_fit() {
    use server::types::{NetworkEither, NetworkWhen};
    let network = |members: &str| format!(r#"{{"net":"a::/8","which":"x1",{members}}}"#);
    hold!(server, client, Network,
        network(r#""either":"auto""#) => true,
        network(r#""either":"other""#) => true,
        network(r#""either":1"#) => true,
        network(r#""either":true"#) => true,
        network(r#""either":"much too long""#) => false,
        network(r#""some":null"#) => true,
        network(r#""some":{"first":"::1"}"#) => true,
        network(r#""when":"2026-11-20 10:00:00Z""#) => true,
        network(r#""shape":{"type":"born"}"#) => true,
        // Both admit members that they do not name.
        network(r#""shape":{"type":"born","message":"m"}"#) => false,
    );
    let read = |members: &str| -> server::types::Network {
        serde_json::from_str(&network(members)).unwrap()
    };
    let first = read(r#""either":"auto""#).either;
    assert!(matches!(first, Some(NetworkEither::String(_))), "{first:?}");
    // chrono would take it, and write it otherwise.
    let when = read(r#""when":"2026-11-20 10:00:00Z""#).when;
    assert!(matches!(when, Some(NetworkWhen::String2(_))), "{when:?}");
    assert_eq!(read(r#""some":null"#).some, Field::Null);
}

#[test]
fn names_that_rust_has_not_are_kept_on_the_wire() {
    use named::types::Whom;
    let text = r#"{"@type":"t","type":1,"_b":"+1","_links":{"@id":null},"links":null,"3d":true,"userId":"u","user_id":"v","größe":1,"$":2,"self":3,"for":"self","in":"Self2"}"#;
    hold!(named, client_named, Thing,
        text => true,
        r#"{"@type":"t","_b":"","userId":"u"}"# => true,
        r#"{"@type":"t","_b":"plus","userId":"u"}"# => false,
        r#"{"type_":"t","_b":"*","userId":"u"}"# => false,
        r#"{"@type":"t","_b":"*","user_id":"u"}"# => false,
    );
    let thing: named::types::Thing = serde_json::from_str(text).unwrap();
    assert_eq!((thing.type_.as_str(), thing.type_2), ("t", Some(1)));
    assert_eq!(thing.b, named::types::Vote::Plus1);
    assert_eq!(named::types::Vote::default().as_str(), "text/html");
    assert_eq!(
        (thing.for_, thing.in_),
        (Some(Whom::Self_), Some(Whom::Self2))
    );
    assert_eq!(Whom::default(), Whom::Self3);
    let texts = Whom::ALL.iter().map(Whom::as_str);
    assert!(texts.eq(["self", "Self", "self_", "Self2"]));
    let built = client_named::types::Thing::builder();
    let built = built
        .type_("t")
        .b(client_named::types::Vote::X2)
        .user_id("u")
        // The first takes the name of its type, so that the second keeps its own.
        .whom(client_named::types::Whom::Self_)
        .in_(client_named::types::Whom::Self4);
    let built = client_named::types::Thing::try_from(built).unwrap();
    assert_eq!(
        serde_json::to_string(&built).unwrap(),
        r#"{"@type":"t","_b":"*","userId":"u","for":"self","in":"self_"}"#
    );
}

#[test]
fn limits_that_no_type_keeps_are_checked() {
    let both = |text: &str| {
        // The types keep none of them.
        let _: limited::types::Thing = serde_json::from_str(text).unwrap();
        told(&limited::schemas::Thing, text)
    };
    for (text, violations) in [
        (
            r#"{"price":0.10,"level":3,"share":0.50,"sure":true,"labels":{"a":"b"},"dozens":36}"#,
            "",
        ),
        (r#"{"share":null,"list":[0,-2,4]}"#, ""),
        (r#"{"share":1.0}"#, ""),
        ("{}", " minProperties"),
        (r#"{"price":0.105}"#, "/price multipleOf"),
        (r#"{"level":4}"#, "/level enum"),
        (r#"{"share":0.7}"#, "/share enum"),
        (r#"{"sure":false}"#, "/sure enum"),
        (r#"{"labels":{}}"#, "/labels minProperties"),
        (
            r#"{"labels":{"a":"","b":"","c":""}}"#,
            "/labels maxProperties",
        ),
        (r#"{"dozens":13}"#, "/dozens multipleOf"),
        (
            r#"{"list":[1,2,3]}"#,
            "/list/0 multipleOf, /list/2 multipleOf",
        ),
    ] {
        assert_eq!(both(text), violations, "{text}");
    }
    assert_eq!(
        self::told(&limited::schemas::Thing, r#"{"level":"1"}"#),
        "/level type, /level enum"
    );
    assert_eq!(self::told(&limited::schemas::Same, "13"), " multipleOf");
    let step = limited::OPERATIONS[0]
        .parameters
        .iter()
        .map(|it| &it.schema);
    let step: Vec<_> = step.map(|it| self::told(it, "3")).collect();
    assert_eq!(step, [" multipleOf", " enum"]);
}

#[test]
fn texts_of_several_kinds_stand_in_parameters() {
    use server::types::{GetPetXWay, NameOrId};
    let id = "67e55044-10b1-426f-9247-bb680e5fe0c8";
    assert!(matches!(id.parse(), Ok(NameOrId::Id(_))));
    assert!(matches!("rex".parse(), Ok(NameOrId::Name(_))));
    for text in [id, "rex"] {
        let read = text.parse::<NameOrId>().map(|it| it.to_string());
        assert_eq!(read.ok().as_deref(), Some(text));
        let read = text
            .parse::<client::types::NameOrId>()
            .map(|it| it.to_string());
        assert_eq!(read.ok().as_deref(), Some(text));
    }
    assert!("Rex".parse::<NameOrId>().is_err());
    assert_eq!(GetPetXWay::try_from("up").unwrap().to_string(), "up");
    assert!(GetPetXWay::try_from("left").is_err());
}

#[test]
fn members_that_are_no_properties_have_their_own_type_and_stay_exact() {
    hold!(open, client_open, Prices,
        r#"{"currency":"EUR","kind":"net","extra":null,"Nut":0.10,"bolt":1.0000000000000000000001}"# => true,
        r#"{"currency":"EUR","kind":"net"}"# => true,
        r#"{"currency":"EUR","kind":"net","":7}"# => true,
        r#"{"currency":"EUR","kind":"net","extra":"7"}"# => false,
        r#"{"currency":"EUR","kind":"net","bolt":"7"}"# => false,
        r#"{"currency":"EUR","kind":"net","bolt":null}"# => false,
        r#"{"currency":"EURO","kind":"net"}"# => false,
        r#"{"kind":1,"currency":"EUR"}"# => false,
        r#"{"bolt":7}"# => false,
        "[]" => false,
    );
    hold!(open, client_open, Words,
        r#"{"type":"fr","a":null,"b":{"word":"mot"}}"# => true,
        "{}" => true,
        r#"{"type":"de"}"# => false,
        r#"{"a":{}}"# => false,
    );
    let text = r#"{"currency":"EUR","kind":"net","bolt":"7"}"#;
    assert_eq!(told(&open::schemas::Prices, text), "/bolt type");
    let twice = r#"{"currency":"EUR","kind":"net","bolt":7,"bolt":7}"#;
    let error = serde_json::from_str::<client_open::types::Prices>(twice).unwrap_err();
    assert!(
        error.to_string().starts_with("duplicate field `bolt`"),
        "{error}"
    );
}

#[test]
fn a_property_goes_before_another_member_of_its_name() {
    use client_open::types::Prices;
    let built = Prices::builder().currency("EUR").kind("net");
    let built = Prices::try_from(built).unwrap();
    assert!(built.extra.is_empty() && built.extra_2.is_absent());
    let extra = ["kind", "nut"].map(|it| (it.to_owned(), 7.into()));
    let both = Prices {
        extra: extra.into(),
        ..built
    };
    let text = serde_json::to_string(&both).unwrap();
    assert_eq!(text, r#"{"currency":"EUR","kind":"net","nut":7}"#);
}
