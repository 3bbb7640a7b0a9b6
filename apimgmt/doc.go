// Package apimgmt publishes APIs. A [Publisher] takes the OpenAPI file of an
// enabler, checks it, keeps it in a catalogue, and has a gateway route to it.
//
// # Versions
//
// The version of an API is the info.version of its file, and has a [State]:
//
//   - draft: in the library, not routed
//   - published: routed
//   - deprecated: routed, and every answer says so with the header fields
//     Deprecation (RFC 9745) and, where the end is known, Sunset (RFC 8594)
//   - sunset: in the library, not routed any more
//
// A draft can only be published. Published, deprecated and sunset lead to each
// other in every direction, so that a step can be taken back; nothing becomes a
// draft again. The time in a Sunset header field announces the end and does not
// bring it.
//
// When a version begins to be routed, those versions of the same enabler that
// have a route in common with it become sunset in the same step; others stay
// beside it. A file of a version that is there already takes its place. A route in
// common with another enabler, or with what somebody has put into the gateway by
// hand, is refused with [ErrConflict].
//
// # What is kept, and how a change is made
//
// The catalogue is three sorts of things in storage. The document "catalogue" has
// a serial number, the one change that is under way, and the enablers whose state in
// the gateway is in doubt. The document "enabler/<key>" is the record of an
// enabler. The blobs "file/<id>", "shown/<id>" and "entities/<id>" are an uploaded
// file, the same without secrets, and what the gateway serves of it; they never
// change.
//
// A change is made in this order:
//
//  1. the blobs are written
//  2. the change is written into "catalogue", at the revision that it was decided
//     on: from here on nobody else changes anything
//  3. the gateway is told, which it takes as a whole or not at all
//  4. the record is written
//  5. the change is taken out of "catalogue"
//
// If the gateway refuses, the change is taken out and nothing has changed. If the
// process dies between 2 and 5, the next one that comes, at its start or because
// the change does not go on, finishes it, or takes it back if the gateway
// refuses. [Publisher.Run] also compares what the gateway serves with the
// catalogue, and makes them agree: after a gateway has lost its state, and when
// another process has changed the catalogue.
//
// Several processes may share one storage; their changes come one after the
// other. Each has a gateway of its own, or all have the same.
//
// # Secrets
//
// A definition may hold secrets for the gateway's plugins. They are stored as they
// were uploaded, in the clear, and told to the gateway and nobody else. A file that is shown
// has [entity.Redaction] in their place, and may be uploaded again as it was
// shown: the secrets are kept. Whoever may publish may therefore have a kept
// secret sent to another place; all developers are trusted alike.
package apimgmt
