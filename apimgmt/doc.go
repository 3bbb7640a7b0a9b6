// Package apimgmt publishes APIs. Services change their OpenAPI files and addresses, and what users find
// in a portal, what a gateway routes and who may call it have to agree all the time: a publisher checks
// a file, keeps it in a catalogue, and has a gateway route to the service.
//
//	ctx, gateway := context.Background(), apimgmt.NewMemoryGateway(nil) // or that of package gateway, or a Kong
//	publisher, err := apimgmt.NewPublisher(apimgmt.Config{
//		Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs(),
//		Gateway: gateway, GatewayURL: "https://gateway.example",
//	})
//	if err != nil {
//		log.Fatal(err)
//	}
//	record, err := publisher.Publish(ctx, apimgmt.Upload{Enabler: "Weather", Description: "What the sky is like", Definition: []byte(`
//	openapi: 3.0.3
//	info: {title: Weather stations, version: 1.2.0}
//	servers: [{url: https://weather.example/v2}]
//	paths:
//	  /stations/{id}:
//	    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
//	    get: {responses: {"200": {description: fine}}}`)})
//	if err != nil {
//		log.Fatal(err)
//	}
//	served, err := gateway.Config(ctx)
//	fmt.Println(record.Title, record.Version.Version, record.State, record.Routes[0].URL)
//	fmt.Println(served.Routes[0].Name, err)
//
// Package rest serves a publisher over HTTP, client uses one that another process serves, and
// portal has its pages.
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
// A draft can only be published. Published, deprecated and sunset lead to each other in every direction.
// When a version begins to be routed, those versions of the same enabler that have a route in common with
// it become sunset in the same step. A file of an existing version replaces it. A route in common with
// another enabler, or with what was put into the gateway by hand, is refused with [ErrConflict], and so is
// a change that would remove what was attached to a published version there, such as a plugin.
//
// # Catalogue and gateway
//
// The catalogue is the desired state. A change is on record before the gateway gets it, and is committed
// or rolled back as a whole, after a crash too. [Publisher.Run] compares the gateway with the catalogue and
// repairs what differs. Several processes may share one storage, with one gateway or one each.
//
// Secrets in a definition, for plugins of the gateway, are stored in the clear, and only the gateway gets
// them. A file that is shown has [entity.Redaction] in their place and may be uploaded again as it was
// shown. A user that may publish can have a kept secret sent to another place: all developers are trusted
// alike.
package apimgmt

// The life of a change.
//
// The document "catalogue", its head, has a serial number, the one pending change, and the enablers whose
// state in the gateway is unconfirmed. The document "enabler/<key>" is the record of an enabler. The blobs
// "file/<id>", "shown/<id>" and "entities/<id>" are an uploaded file, the same without secrets, and what the
// gateway serves of it; they never change. A change goes through these steps:
//
//  1. prepare: on a snapshot of the catalogue, the desired record and the desired configuration of the
//     gateway are computed, and the blobs are written
//  2. begin: the change is written into the head as pending, at the revision of the snapshot; from here on
//     no other process changes anything
//  3. apply: the gateway serves the desired configuration as a whole, or refuses it
//  4. commit: the record is written, and the pending change taken out of the head
//
// If the gateway refuses, the change is rolled back: the record notes that it is not to be committed any
// more, the change is taken out of the head, and the gateway gets the committed state again. If the process
// ends between 2 and 4, the next process resumes the change, at its start or when the change makes no
// progress: it commits it, or rolls it back if the gateway refuses. The process that began it, if it is slow
// and not dead, then answers as the other one has decided. Publisher.Run also repairs the gateway after it
// has lost its state and after another process has changed the catalogue.
//
// Nothing becomes a draft again. The time in a Sunset header field announces the end and does not bring it.
// What was attached to a published version in the gateway is carried over to the version that takes its place.
