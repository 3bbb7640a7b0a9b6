// Package web requests the sources of a mapping that are on the web, for Files.Fetch of package
// rml: results of SPARQL endpoints (SPARQL 1.1 Protocol), answers of HTTP APIs that a Web of
// Things description describes (W3C Web of Things Thing Description 1.1), and files.
//
// An answer is read as it arrives and is not kept. Its size and its time are limited. A redirect
// is followed within one origin only. Credentials come from the program, never from a mapping, and
// each is sent to one origin only. Errors contain no credential, no header and no query of a URL.
// A request is not repeated.
package web
