// Package httpapi is what the REST interfaces of all building blocks share.
//
// A package lists its routes in one table of [Route] values; the handlers
// return errors. [NewHandler] returns an http.Handler for the table: it answers
// each route with and without a trailing slash, turns errors into answers,
// recovers panics, gives each request an identifier and logs it.
//
// [CheckRoutes] compares the table with the OpenAPI document, in both
// directions, so that neither can rot. [Document] and [DocsUI] serve the
// document and an interactive page about it that needs no network.
//
// [ReadEntityTags] reads the conditions of a change. [ReadBody] reads a small body,
// [PatientBody] a large one from a slow client, [PatientWriter] writes one, and [Form]
// reads an upload field by field. [Slots] bounds how many requests of a kind are served
// at a time. [EventStream] writes a stream of events, [WritePage] a page, and [Assets]
// are the files that pages load.
//
// # Pages of other origins
//
// A browser sends requests for every page that it shows, also to servers on
// loopback that no other machine can reach. So each handler refuses what a page of
// another origin sends to change something, with 403, after
// [net/http.CrossOriginProtection]; [Route.Origins] has the exceptions. And over a
// loopback connection each request has to name an IP address, localhost, a name
// below .localhost or one of [Options.Hosts], or gets a 421: the owner of any other
// name can point it to 127.0.0.1, after which browsers take the server for a part
// of that owner's site. Answers have CORS header fields for the origins among
// [Options.Hosts] alone, without cookies, except on routes for [AnyPages].
package httpapi
