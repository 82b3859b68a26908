//! What to write instead of an unsupported keyword.

/// Returns the advice for this keyword, wherever it occurs.
pub(super) fn for_keyword(keyword: &str) -> &'static str {
    match keyword {
        "allOf" => {
            "write all properties in one object; `allOf` is for one reference that stands inside of \
             something"
        }
        "not" => "remove it, and say it in the description: no generated type could keep it",
        "multipleOf" | "minProperties" | "maxProperties" => "remove it: it means nothing here",
        "discriminator" => {
            "write it beside a `oneOf` of the components that it leads to, or remove it"
        }
        "const" => "write an `enum` of one value",
        "examples" => "write `example`: `examples` is of OpenAPI 3.1 here",
        "type" => "remove it; a parameter or a header has it inside `schema`",
        "oneOf" | "properties" | "enum" | "minimum" | "maximum" | "minLength" | "maxLength"
        | "pattern" | "default" => "remove it: it means nothing here",
        "patternProperties" | "propertyNames" => "write the properties by name",
        "style" | "explode" | "allowReserved" | "allowEmptyValue" => {
            "remove it: parameters are single values, written the usual way of their place"
        }
        "content" => "write `schema`",
        "callbacks" | "webhooks" => "remove it, and tell it in the description",
        "options" | "trace" => "remove it: the server answers these methods itself",
        "operationRef" => "write `operationId`: the operation is one of this document",
        "server" | "servers" => "write `servers` once, at the top of the document",
        "nullable" => "write it beside the `type` of the component that may be null",
        "$ref" => "write the thing itself here",
        _ if keyword.starts_with("x-") => {
            "remove it, or move it to the document, `info`, a server or a tag: \
             extensions are taken as documentation only there"
        }
        _ => "correct its name, or remove it",
    }
}
