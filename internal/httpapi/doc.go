// Package httpapi is what the REST interfaces of all building blocks share.
//
// A package lists its routes in one table of [Route] values; the handlers
// return errors. [NewHandler] makes an http.Handler of the table: it answers
// each route with and without a trailing slash, turns errors into answers,
// recovers panics, gives each request an identifier and logs it.
//
// [CheckRoutes] compares the table with the OpenAPI document, in both
// directions, so that neither can rot. [Document] and [DocsUI] serve the
// document and an interactive page about it that needs no network.
//
// Nothing here allows other origins: a page from elsewhere cannot use the
// interfaces (no CORS headers are ever sent).
package httpapi
