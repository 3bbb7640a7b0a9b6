// Package apimgmt publishes APIs. A [Publisher] takes the OpenAPI file of an
// enabler, checks it, keeps it in a catalogue, and has a gateway route to it.
//
// # Versions
//
// The version of an API is the info.version of its file, and has a [State]:
//
//   - draft: in the library, not routed
//   - published: routed
//   - deprecated: routed, and every answer has the header fields Deprecation (RFC 9745)
//     and, where the end is known, Sunset (RFC 8594)
//   - sunset: in the library, not routed any more
//
// A draft can only be published. Published, deprecated and sunset lead to each
// other in every direction, so that a step can be taken back; nothing becomes a
// draft again. The time in a Sunset header field announces the end and does not
// bring it.
//
// When a version begins to be routed, those versions of the same enabler that
// have a route in common with it become sunset in the same step; others stay
// beside it. A file of an existing version replaces it. A route in common with another
// enabler, or with what was put into the gateway by hand, is refused with [ErrConflict].
// What was attached to a published version in the gateway, such as a plugin on its service,
// is carried over to the version that takes its place; a change that would remove it is
// refused with [ErrConflict] and its name.
//
// # Desired state and the life of a change
//
// The catalogue is the desired state; the gateway serves the current one. The catalogue
// is in storage. The document "catalogue", its head, has a serial number, the one pending
// change, and the enablers whose state in the gateway is unconfirmed. The document
// "enabler/<key>" is the record of an enabler. The blobs "file/<id>", "shown/<id>" and
// "entities/<id>" are an uploaded file, the same without secrets, and what the gateway
// serves of it; they never change.
//
// A change goes through these steps:
//
//  1. prepare: on a snapshot of the catalogue, the desired record and the desired
//     configuration of the gateway are computed, and the blobs are written
//  2. begin: the change is written into the head as pending, at the revision of the
//     snapshot; from here on no other process changes anything
//  3. apply: the gateway serves the desired configuration as a whole, or refuses it
//  4. commit: the record is written, and the pending change taken out of the head
//
// If the gateway refuses, the change is rolled back: the record notes that it is not to be
// committed any more, the change is taken out of the head, and the gateway gets the committed
// state again. If the process ends between 2 and 4, the next process resumes the change, at
// its start or when the change makes no progress: it commits it, or rolls it back if the
// gateway refuses. The process that began it, if it is slow and not dead, then answers as the
// other one has decided. [Publisher.Run] also reconciles: it compares the gateway with the
// catalogue and repairs what differs, after a gateway has lost its state and after another
// process has changed the catalogue.
//
// Several processes may share one storage; their changes come one after the
// other. Each has a gateway of its own, or all have the same.
//
// # Secrets
//
// A definition may hold secrets for the gateway's plugins. They are stored as they were
// uploaded, in the clear, and only the gateway gets them. A file that is shown has
// [entity.Redaction] in their place, and may be uploaded again as it was shown: the
// secrets are kept. A user that may publish may therefore have a kept secret sent to
// another place; all developers are trusted alike.
package apimgmt
