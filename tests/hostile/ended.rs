//! A credential that ends while a request is under way changes nothing.
