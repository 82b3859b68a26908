//! The trait that a team implements, and its registration with dropshot.

use indexmap::{IndexMap, IndexSet};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::{component_type, doc, ident, operation_static};
use crate::Document;
use crate::emit::several;
use crate::model::{Operation, Required};
use crate::names;

pub(super) fn tokens(document: &Document) -> TokenStream {
    let name = format_ident!("{}Api", names::of_type(&document.module));
    let title = format!(
        "The operations of \"{}\" {}.",
        document.title, document.version
    );
    let text = doc([
        Some(title.as_str()),
        Some(
            "A handler gets an unchecked request and checks it itself, once it knows that the caller may \
             be told what is wrong with it. It answers the operation's one success, or an error.",
        ),
        document.description.as_deref(),
    ]);
    // Operations that require the same, apart from scopes, share a hook.
    let admissions: IndexMap<_, _> = document
        .operations
        .iter()
        .map(|it| (it.admission(), Admission::of(it)))
        .rev()
        .collect();
    let admissions: Vec<_> = admissions.into_values().rev().collect();
    let callers = admissions.iter().filter_map(|it| it.caller_type(document));
    let admissions = admissions.iter().map(Admission::method);
    let errors: IndexSet<Option<String>> = document
        .operations
        .iter()
        .map(Operation::error_schema)
        .collect();
    let errors = errors
        .into_iter()
        .map(|it| error_method(document, it.as_deref()));
    let handlers = document.operations.iter().map(handler);
    let within = within_method();
    let answered = answered_method();
    let register = register(document, &name);
    quote! {
        #text
        pub trait #name: Sized + Send + Sync + 'static {
            /// What the server keeps for all requests.
            type Context: dropshot::ServerContext;
            /// What goes wrong in the service, in its own terms. For `?` in a handler, say
            /// `impl From<Error> for openapi_dropshot_runtime::Rejection<Error>`.
            type Error: Send + 'static;
            #(#callers)*
            #(#admissions)*
            #(#errors)*
            #within
            #answered
            #(#handlers)*
        }
        #register
    }
}

/// What admits a request: security schemes, or none.
struct Admission<'a> {
    name: Option<String>,
    security: &'a [Vec<Required>],
}

impl<'a> Admission<'a> {
    fn of(operation: &'a Operation) -> Admission<'a> {
        Admission {
            name: operation.admission(),
            security: &operation.security,
        }
    }

    fn method_name(&self) -> Ident {
        ident(&names::value(self.name.as_deref().unwrap_or("public")))
    }

    fn caller(&self) -> Option<Ident> {
        self.name
            .as_deref()
            .map(|name| ident(&names::of_type(name)))
    }

    /// The schemes, in words.
    fn schemes(&self) -> String {
        let one = |required: &Vec<Required>| {
            let names: Vec<_> = required
                .iter()
                .map(|it| format!("`{}`", it.scheme))
                .collect();
            match names.as_slice() {
                [] => "no credential".to_owned(),
                [name] => name.clone(),
                names => format!("{} together", names.join(" and ")),
            }
        };
        let all: IndexSet<_> = self.security.iter().map(one).collect();
        match all.len() {
            1 if self.security[0].len() == 1 => {
                format!("the security scheme {}", all[0])
            }
            _ => {
                let all: Vec<_> = all.into_iter().collect();
                format!("one of: {}", all.join(", or "))
            }
        }
    }

    /// The type that proving its schemes yields.
    fn caller_type(&self, document: &Document) -> Option<TokenStream> {
        let name = self.caller()?;
        let proves = match self.security {
            [one] if one.len() == 1 => format!("What {} proves", self.schemes()),
            _ => format!("What is proven by {}", self.schemes()),
        };
        let text = match self.security {
            [one] if one.len() == 1 => format!("{proves} about the caller."),
            _ => format!("{proves}."),
        };
        let description = match self.security {
            [one] if one.len() == 1 => document
                .security_schemes
                .get(&one[0].scheme)
                .and_then(|it| it.description.as_deref()),
            _ => None,
        };
        let doc = doc([Some(text.as_str()), description]);
        Some(quote!(#doc type #name: Send + 'static;))
    }

    fn method(&self) -> TokenStream {
        let name = self.method_name();
        let (text, caller, default) = match self.caller() {
            Some(caller) => {
                let text = format!(
                    "Admits the caller by {}, before anything else of the request is looked at.",
                    self.schemes()
                );
                (text, quote!(Self::#caller), quote!(;))
            }
            None => {
                let text = "Admits the caller of a public operation: everyone, unless overridden.";
                let everyone = quote! {
                    { async { Ok(openapi_dropshot_runtime::Admitted::new(())) } }
                };
                (text.to_owned(), quote!(()), everyone)
            }
        };
        let doc = doc([
            Some(text.as_str()),
            Some("Headers that come with the admission are added to whatever is answered later."),
        ]);
        quote! {
            #doc
            #[allow(unused_variables)]
            fn #name(
                context: &dropshot::RequestContext<Self::Context>,
                operation: &'static openapi_dropshot_runtime::Operation,
            ) -> impl ::std::future::Future<
                Output = ::std::result::Result<openapi_dropshot_runtime::Admitted<#caller>, Self::Error>,
            > + Send #default
        }
    }
}

/// The hook that makes an error response for an operation, and the type of its body.
fn error_hook(document: &Document, schema: Option<&str>) -> (Ident, TokenStream) {
    match schema {
        Some(schema) => (ident(&document.error_hook(schema)), component_type(schema)),
        None => (ident("unlisted"), quote!(())),
    }
}

/// The hook that makes an error body of a problem that the runtime found.
fn error_method(document: &Document, schema: Option<&str>) -> TokenStream {
    let (name, error) = error_hook(document, schema);
    let without = schema.is_none().then(|| {
        quote! {
            ///
            /// For operations of which the document lists no errors: their answers have no body.
        }
    });
    quote! {
        /// Puts into the document's words why a request has no success: an error of the service, or
        /// what the runtime found wrong (violations, an absent method, a body too large, too slow or
        /// of another type, a panic).
        #without
        fn #name(
            context: &dropshot::RequestContext<Self::Context>,
            operation: &'static openapi_dropshot_runtime::Operation,
            rejection: openapi_dropshot_runtime::Rejection<Self::Error>,
        ) -> openapi_dropshot_runtime::ErrorAnswer<#error>;
    }
}

/// The hook around all the work for a request.
fn within_method() -> TokenStream {
    quote! {
        /// Does all the work for a request, from the admission to the answer, unless overridden as it is: the place
        /// for what that work is done within, such as a trace.
        #[allow(unused_variables)]
        fn within<W: ::std::future::Future + Send>(
            context: &dropshot::RequestContext<Self::Context>,
            operation: &'static openapi_dropshot_runtime::Operation,
            work: W,
        ) -> impl ::std::future::Future<Output = W::Output> + Send {
            work
        }
    }
}

/// The hook that every response passes before it is sent.
fn answered_method() -> TokenStream {
    quote! {
        /// Hands an answer over to be sent, unless overridden as it is: the place for a log, for statistics,
        /// and for a bound on what waits to be sent. The notes that came with the admission are among its
        /// extensions. What is added to the answer here is not compared with the document: headers of the
        /// connection may come from here, and nothing else should.
        #[allow(unused_variables)]
        fn answered(
            context: &dropshot::RequestContext<Self::Context>,
            operation: &'static openapi_dropshot_runtime::Operation,
            answer: openapi_dropshot_runtime::http::Response<openapi_dropshot_runtime::Bytes>,
            latency: ::std::time::Duration,
        ) -> openapi_dropshot_runtime::http::Response<dropshot::Body> {
            answer.map(dropshot::Body::from)
        }
    }
}

fn handler(operation: &Operation) -> TokenStream {
    let place = format!("`{} {}`", operation.method.as_str(), operation.path);
    let doc = doc([
        operation.summary.as_deref(),
        Some(place.as_str()),
        operation.description.as_deref(),
    ]);
    let name = ident(&operation.function());
    let caller = Admission::of(operation).caller();
    let caller = caller.map(|caller| quote!(caller: Self::#caller,));
    let request = format_ident!("{}Request", operation.stem());
    let answer = format_ident!("{}Answer", operation.stem());
    quote! {
        #doc
        fn #name(
            context: &dropshot::RequestContext<Self::Context>,
            #caller
            request: openapi_dropshot_runtime::Unchecked<#request>,
        ) -> impl ::std::future::Future<
            Output = ::std::result::Result<#answer, openapi_dropshot_runtime::Rejection<Self::Error>>,
        > + Send;
    }
}

/// How operations are registered: the hook that admits their callers, and the one that makes their errors.
type Way = (Option<String>, Option<String>, bool);

fn way(operation: &Operation) -> Way {
    let several = several::has_several(operation);
    (operation.admission(), operation.error_schema(), several)
}

fn register(document: &Document, api: &Ident) -> TokenStream {
    let mut ways: IndexMap<Way, (Ident, &Operation)> = IndexMap::new();
    for operation in &document.operations {
        let name = format_ident!("way_{}", ways.len() + 1);
        ways.entry(way(operation)).or_insert((name, operation));
    }
    let endpoints = document.operations.iter();
    let endpoints = endpoints.map(|it| endpoint(it, &ways[&way(it)].0));
    let mut paths: IndexMap<&str, Vec<&Operation>> = IndexMap::new();
    for operation in &document.operations {
        paths.entry(&operation.path).or_default().push(operation);
    }
    let statics = paths.values().map(|operations| {
        let operations = operations
            .iter()
            .map(|operation| operation_static(operation));
        quote!(&[#(&#operations),*])
    });
    let hooks: IndexMap<_, _> = ways
        .values()
        .map(|(_, it)| it.error_schema())
        .map(|it| (it.clone(), error_hook(document, it.as_deref()).0))
        .collect();
    let absent = paths.values().enumerate().map(|(index, operations)| {
        let description = description(operations[0]);
        let refuse = &hooks[&operations[0].error_schema()];
        quote! {
            openapi_dropshot_runtime::register_absent_methods(
                api,
                #description,
                PATHS[#index],
                A::#refuse,
                A::answered,
            )?;
        }
    });
    let ways = ways.values();
    let ways = ways.map(|(name, operation)| registered(document, operation, name, api));
    let text = format!(
        "Adds the operations of an implementation of [`{api}`] to a server, and for every method that \
         one of their paths does not have, an unpublished endpoint that says so."
    );
    quote! {
        /// The operations of each path.
        static PATHS: &[&[&openapi_dropshot_runtime::Operation]] = &[#(#statics),*];

        #[doc = #text]
        ///
        /// # Errors
        /// When the description holds an endpoint already that is in the way.
        pub fn register<A: #api>(
            api: &mut dropshot::ApiDescription<A::Context>,
        ) -> ::std::result::Result<(), dropshot::ApiDescriptionRegisterError> {
            use openapi_dropshot_runtime::{Description, Success};
            #(#endpoints)*
            #(#absent)*
            Ok(())
        }

        #(#ways)*
    }
}

/// The types that describe an operation.
fn description(operation: &Operation) -> TokenStream {
    let constant = operation_static(operation);
    let request = format_ident!("{}Request", operation.stem());
    let answer = format_ident!("{}Answer", operation.stem());
    quote!(Description::of::<#request, #answer>(&#constant))
}

fn endpoint(operation: &Operation, way: &Ident) -> TokenStream {
    let description = description(operation);
    let function = ident(&operation.function());
    let (caller, argument) = match operation.security.is_empty() {
        false => (quote!(caller), quote!(caller,)),
        true => (quote!(()), quote!()),
    };
    let upgrading = operation
        .success
        .is_upgrade()
        .then(|| quote!(let request = request.upgrading(context).await;));
    quote! {
        #way::<A>(api, #description, |context, #caller, request| ::std::boxed::Box::pin(async move {
            #upgrading
            let answer = A::#function(context, #argument request.unchecked()).await?;
            Ok(Success::into_answer(answer))
        }))?;
    }
}

/// The function that registers the operations that share a `Way`.
fn registered(
    document: &Document,
    operation: &Operation,
    name: &Ident,
    api: &Ident,
) -> TokenStream {
    let admission = Admission::of(operation);
    let admit = admission.method_name();
    let caller = admission.caller();
    let caller = caller.map_or(quote!(()), |caller| quote!(A::#caller));
    let (refuse, _) = error_hook(document, operation.error_schema().as_deref());
    let text = format!(
        "Registers an operation whose callers `{admit}` admits, and whose errors `{refuse}` words."
    );
    let refused = quote!(A::#refuse(&context, operation, rejection));
    let refused = match several::has_several(operation) {
        true => quote!(openapi_dropshot_runtime::listed_body(operation, #refused, &context.log)),
        false => refused,
    };
    quote! {
        #[doc = #text]
        fn #name<A: #api>(
            api: &mut dropshot::ApiDescription<A::Context>,
            description: openapi_dropshot_runtime::Description,
            handler: openapi_dropshot_runtime::Handler<A::Context, #caller, A::Error>,
        ) -> ::std::result::Result<(), dropshot::ApiDescriptionRegisterError> {
            let operation = description.operation();
            let serve = move |
                context: dropshot::RequestContext<A::Context>,
                mut request: openapi_dropshot_runtime::Captured,
            | async move {
                let remainder = request.remainder();
                // Pinned where it is made: a hook that takes it moves its address alone.
                let work = ::std::pin::pin!(openapi_dropshot_runtime::serve(
                    &context,
                    operation,
                    || A::#admit(&context, operation),
                    |caller| handler(&context, caller, request),
                    |rejection| #refused,
                    |answer, latency| A::answered(&context, operation, answer, latency),
                ));
                let served = A::within(&context, operation, work).await;
                openapi_dropshot_runtime::settled(&context.request, remainder, served).await
            };
            api.register(openapi_dropshot_runtime::endpoint(description, serve))
        }
    }
}
