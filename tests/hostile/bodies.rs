//! Bodies that come slowly, or in crumbs, stand in nobody's way.
