//! Suggests the published path that was probably meant by one that matches no route.
//!
//! The common mistakes are a base URL that already contains a part of the path (`/api/v1/api/v1/products`) or that
//! lacks one (`/products`), a trailing slash, capitals, and a letter too many or too few (`/api/v1/product`). So:
//!
//! 1. A path is compared with each published one from its end, segment by segment. A variable matches any segment; a
//!    literal matches itself, ignoring case and with one letter more, fewer or different ([`is_close`]).
//! 2. The suggestion is the published path with the most matching segments, which must reach at least its last literal.
//! 3. The response names the path as it is published, and nothing that the caller wrote.
//! 4. The work is bounded: a path of more than [`MAX_PATH_BYTES`] or [`MAX_PATH_SEGMENTS`] is not compared at all.

/// The longest path that is compared; the published ones are far shorter.
const MAX_PATH_BYTES: usize = 256;

/// The most segments of a path that is compared.
const MAX_PATH_SEGMENTS: usize = 16;

/// Returns the published path that `path` may mean, if there is one.
pub(crate) fn meant(
    published: impl Iterator<Item = &'static str>,
    path: &str,
) -> Option<&'static str> {
    if path.len() > MAX_PATH_BYTES {
        return None;
    }
    let segments = || path.rsplit('/').filter(|it| !it.is_empty());
    if segments().count() > MAX_PATH_SEGMENTS {
        return None;
    }
    let agreeing = published.filter_map(|route| Some((agreeing(route, segments())?, route)));
    // Among equals, the first.
    let best = agreeing.reduce(|best, other| if other.0 > best.0 { other } else { best });
    best.map(|(_, route)| route)
}

/// Returns how many segments match, from the end; `None` if no literal is among them.
fn agreeing<'a>(route: &str, segments: impl Iterator<Item = &'a str>) -> Option<usize> {
    let agreeing = route.rsplit('/').zip(segments);
    let agreeing = agreeing.take_while(|(of_route, segment)| {
        is_variable(of_route) || !of_route.is_empty() && is_close(of_route, segment)
    });
    let (count, literals) = agreeing.fold((0, 0), |(count, literals), (of_route, _)| {
        (count + 1, literals + usize::from(!is_variable(of_route)))
    });
    (literals > 0).then_some(count)
}

fn is_variable(segment: &str) -> bool {
    segment.starts_with('{')
}

/// Returns whether two literals are the same, ignoring case and at most one letter more, fewer or different. Literals
/// of three letters or fewer allow no such letter: `v1` is not `v2`.
fn is_close(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.eq_ignore_ascii_case(other) {
        return true;
    }
    if one.len().min(other.len()) <= 3 || one.len().abs_diff(other.len()) > 1 {
        return false;
    }
    let pairs = one.iter().zip(other);
    let same = pairs.take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count();
    let skip = |it: &[u8], longer: bool| it[same + usize::from(longer)..].to_ascii_lowercase();
    let (one_is_longer, other_is_longer) = (one.len() >= other.len(), other.len() >= one.len());
    skip(one, one_is_longer) == skip(other, other_is_longer)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLISHED: [&str; 4] = [
        "/api/v1/products",
        "/api/v1/products/{id}",
        "/api/auth/mobile/token",
        "/api/mobile/items/{targetType}/{id}/links",
    ];

    fn of(path: &str) -> Option<&'static str> {
        meant(PUBLISHED.into_iter(), path)
    }

    #[test]
    fn the_common_mistakes_lead_to_the_path_that_is_meant() {
        for (path, expected) in [
            ("/api/v1/api/v1/products", PUBLISHED[0]),
            ("/products", PUBLISHED[0]),
            ("/v1/products", PUBLISHED[0]),
            ("/api/products", PUBLISHED[0]),
            ("/api/v2/products", PUBLISHED[0]),
            ("/api/v1/product", PUBLISHED[0]),
            ("/api/v1/prodcts", PUBLISHED[0]),
            ("/api/v1/Products", PUBLISHED[0]),
            ("/api/v1/products/", PUBLISHED[0]),
            ("//api//v1//products", PUBLISHED[0]),
            ("/products/1", PUBLISHED[1]),
            ("/api/v1/api/v1/products/1", PUBLISHED[1]),
            ("/api/v1/product/1", PUBLISHED[1]),
            ("/token", PUBLISHED[2]),
            ("/api/auth/mobile/tokens", PUBLISHED[2]),
            ("/items/file/1/links", PUBLISHED[3]),
            ("/api/v1/api/mobile/items/file/1/links", PUBLISHED[3]),
        ] {
            assert_eq!(of(path), Some(expected), "{path}");
        }
    }

    #[test]
    fn the_path_of_which_most_segments_agree_is_meant_and_the_first_of_those_alike() {
        const ALIKE: [&str; 3] = ["/a/links", "/b/links", "/items/{id}/links"];
        for (path, expected) in [
            ("/links", ALIKE[0]),
            ("/b/links", ALIKE[1]),
            ("/api/items/1/links", ALIKE[2]),
        ] {
            let found = meant(ALIKE.into_iter(), path);
            assert_eq!(found, Some(expected), "{path}");
        }
    }

    #[test]
    fn others_mean_nothing() {
        for path in [
            "",
            "/",
            "/1",
            "/api",
            "/api/v1",
            "/nothing",
            "/api/v1/nothing",
            "/api/v1/products/1/2",
            "/api/v1/productions",
            "/favicon.ico",
            "/toke%6E",
        ] {
            assert_eq!(of(path), None, "{path}");
        }
    }

    #[test]
    fn a_long_path_is_not_looked_at() {
        let at_most = |bytes: usize| format!("/{}/products", "a".repeat(bytes - 10));
        assert_eq!(of(&at_most(MAX_PATH_BYTES)), Some(PUBLISHED[0]));
        assert_eq!(of(&at_most(MAX_PATH_BYTES + 1)), None);
        let with = |segments: usize| format!("{}/token", "/a".repeat(segments - 1));
        assert_eq!(of(&with(MAX_PATH_SEGMENTS)), Some(PUBLISHED[2]));
        assert_eq!(of(&with(MAX_PATH_SEGMENTS + 1)), None);
    }

    #[test]
    fn one_letter_may_be_more_less_or_other_but_not_two() {
        for (one, other) in [
            ("links", "link"),
            ("links", "llinks"),
            ("links", "linkz"),
            ("links", "LINKS"),
        ] {
            assert!(
                is_close(one, other) && is_close(other, one),
                "{one} {other}"
            );
        }
        for (one, other) in [
            ("links", "lin"),
            ("links", "lnkz"),
            ("v1", "v2"),
            ("api", "apis"),
            ("links", "lniks"),
        ] {
            assert!(
                !is_close(one, other) && !is_close(other, one),
                "{one} {other}"
            );
        }
    }
}
