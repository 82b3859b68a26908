//! The closed list of units, with the codes of UN/ECE Recommendations 20 and 21.

use std::collections::BTreeSet;

use test_support::document;

/// The table of decisions.md, a group a line.
const UNITS: [&str; 10] = [
    "sec SEC second, min MIN minute, hr HUR hour, day DAY day, wday E49 working day, wk WEE week, mo MON month, qtr QAN quarter, yr ANN year",
    "ea EA each, pcs H87 piece, unit C62 one, pair PR pair, set SET set, kit KT kit, dz DZN dozen, hundred CEN hundred, thousand MIL thousand",
    "pack XPK package, box XBX box, ctn XCT carton, case XCS case, bag XBG bag, btl XBO bottle, roll XRO roll, sheet XST sheet, ream RM ream, bdl XBE bundle, plt XPX pallet",
    "mg MGM milligram, g GRM gram, kg KGM kilogram, t TNE tonne, oz ONZ ounce, lb LBR pound, ton STN short ton",
    "mm MMT millimetre, cm CMT centimetre, m MTR metre, km KMT kilometre, in INH inch, ft FOT foot, yd YRD yard, mi SMI mile, lm LM linear metre",
    "sqm MTK square metre, sqft FTK square foot, sqyd YDK square yard, ac ACR acre, ha H18 hectare",
    "ml MLT millilitre, l LTR litre, cbm MTQ cubic metre, cuft FTQ cubic foot, floz OZA fluid ounce (US), pt PTL pint (US), qt QTL quart (US), gal GLL gallon (US)",
    "kwh KWH kilowatt hour, gb E34 gigabyte, tb E35 terabyte",
    "service E48 service unit, job E51 job, project ~E51 project, task ~ACT task, use E55 use, call C0 call, msg NF message, page ZP page, word D68 word, person IE person, lump LS lump sum, flat 1I flat rate",
    "license ~C62, seat ~C62, user ~C62, device ~C62, credit ~C62",
];

/// Code, UN/ECE code and name of every unit; a unit without a name of its own is called by its code.
fn units() -> Vec<(&'static str, &'static str, &'static str)> {
    let units = UNITS.iter().flat_map(|group| group.split(", "));
    units
        .map(|unit| {
            let mut parts = unit.splitn(3, ' ');
            let code = parts.next().expect("a unit has a code");
            let unece = parts.next().expect("a unit has a UN/ECE code");
            (code, unece, parts.next().unwrap_or(code))
        })
        .collect()
}

#[test]
fn the_units_are_the_78_that_were_decided() {
    let catalog = document::catalog();
    let published = catalog.at("/components/schemas/UnitOfMeasure")["enum"].as_array();
    let published: Vec<_> = published
        .expect("it is a list")
        .iter()
        .filter_map(|it| it.as_str())
        .collect();
    assert_eq!(published.len(), 78);
    let decided: BTreeSet<_> = units().into_iter().map(|(code, _, _)| code).collect();
    assert_eq!(published.iter().copied().collect::<BTreeSet<_>>(), decided);
}

#[test]
fn the_description_gives_the_un_ece_code_and_the_name_of_each_unit() {
    let catalog = document::catalog();
    let schema = catalog.at("/components/schemas/UnitOfMeasure");
    let description = schema["description"].as_str().unwrap_or_default();
    for (code, unece, name) in units() {
        let row = format!("| `{code}` | {unece} | {name} |");
        assert!(description.contains(&row), "no row {row}");
    }
}
