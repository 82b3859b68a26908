//! Lazily walks through all pages of a listing.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::vec;

use futures_core::Stream;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::list::List;
use crate::error::Error;
use crate::types::{Cursor, Product, ProductPage};

/// All pages of a listing, newest first.
///
/// It is lazy: a page is requested when it is awaited. A walk yields exactly once every product that
/// existed when it started and still matches, whatever is created or archived meanwhile. It ends after
/// an error, and [`cursor`](PageStream::cursor) tells where to resume.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
/// use futures::TryStreamExt;
/// use invoicing_client::types::Cursor;
/// # use invoicing_client::types::Product;
/// # async fn keep(_: &[Product], _: Option<&Cursor>) {}
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), invoicing_client::Error> {
/// # let stub = Stub::example();
/// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
/// # let kept: Option<String> = None;
/// let mut list = client.products().list().status("all");
/// if let Some(cursor) = kept {
///     list = list.after(cursor); // where the last walk was interrupted
/// }
/// let mut pages = list.pages();
/// while let Some(page) = pages.try_next().await? {
///     keep(&page.data, pages.cursor()).await; // in one transaction
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "a stream does nothing before it is polled"]
pub struct PageStream {
    /// The listing of the next page.
    list: List,
    next: Next,
}

enum Next {
    Wanted,
    Asked(BoxFuture<'static, Result<ProductPage, Error>>),
    None,
}

impl PageStream {
    pub(super) fn new(list: List) -> PageStream {
        PageStream {
            list,
            next: Next::Wanted,
        }
    }

    /// Returns where to resume after the pages received, with [`List::after`] on a listing with the
    /// same status. `None` after the last page; before the first, the cursor that the listing was
    /// given.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// use futures::TryStreamExt;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::script([Reply::products(&[PRODUCT], Some("b3BhcXVl"))]);
    /// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
    /// let mut pages = client.products().list().limit(1).pages();
    /// let first = pages.try_next().await?;
    /// assert_eq!(pages.cursor().unwrap(), "b3BhcXVl");
    /// # Ok(())
    /// # }
    /// ```
    pub fn cursor(&self) -> Option<&Cursor> {
        self.list.begins_after()
    }
}

impl Stream for PageStream {
    type Item = Result<ProductPage, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match &mut self.next {
                Next::Wanted => self.next = Next::Asked(self.list.clone().send().boxed()),
                Next::Asked(answer) => {
                    let result = ready!(answer.poll_unpin(cx));
                    self.next = Next::None;
                    if let Ok(page) = &result {
                        self.list.set_after(page.next_cursor.clone());
                        if page.next_cursor.is_some() {
                            self.next = Next::Wanted;
                        }
                    }
                    return Poll::Ready(Some(result));
                }
                Next::None => return Poll::Ready(None),
            }
        }
    }
}

impl fmt::Debug for PageStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageStream")
            .field("cursor", &self.cursor())
            .finish_non_exhaustive()
    }
}

/// All products of a listing, newest first, over all pages.
///
/// It is lazy: nothing is requested before the first product is awaited, and the next page only after
/// the last product of the current one was taken. A walk yields exactly once every product that
/// existed when it started and still matches, whatever is created or archived meanwhile. It ends after
/// an error.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
/// use futures::StreamExt;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), invoicing_client::Error> {
/// # let stub = Stub::example();
/// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
/// let mut products = client.products().stream();
/// while let Some(product) = products.next().await {
///     println!("{}", product?.name);
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "a stream does nothing before it is polled"]
pub struct ProductStream {
    pages: PageStream,
    /// The rest of the current page, and where that page starts.
    page: vec::IntoIter<Product>,
    began: Option<Cursor>,
}

impl ProductStream {
    pub(super) fn new(pages: PageStream) -> ProductStream {
        ProductStream {
            pages,
            page: Vec::new().into_iter(),
            began: None,
        }
    }

    /// Returns where to resume after an interruption, with [`List::after`] on a listing with the same
    /// status. It is the start of a page, so products already taken from that page are repeated.
    /// `None` within the first page of a whole listing, and at the end.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// use futures::TryStreamExt;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::script([Reply::products(&[PRODUCT], Some("b3BhcXVl"))]);
    /// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
    /// let mut products = client.products().list().limit(1).stream();
    /// let first = products.try_next().await?;
    /// assert_eq!(products.cursor().unwrap(), "b3BhcXVl");
    /// # Ok(())
    /// # }
    /// ```
    pub fn cursor(&self) -> Option<&Cursor> {
        match self.page.as_slice() {
            [] => self.pages.cursor(),
            _ => self.began.as_ref(),
        }
    }
}

impl Stream for ProductStream {
    type Item = Result<Product, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(product) = self.page.next() {
                return Poll::Ready(Some(Ok(product)));
            }
            let began = self.pages.cursor().cloned();
            match ready!(Pin::new(&mut self.pages).poll_next(cx)) {
                Some(Ok(page)) => {
                    self.page = page.data.into_iter();
                    self.began = began;
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}

impl fmt::Debug for ProductStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProductStream")
            .field("cursor", &self.cursor())
            .finish_non_exhaustive()
    }
}
