// Package enablers is the root of a library of building blocks for edge-IoT
// platforms. It holds no code: import the building block you need.
//
//   - annotate turns JSON, CSV and XML messages into RDF, broker to broker,
//     with RML and CARML mappings. Drivers of brokers are annotate/mqtt and
//     annotate/kafka; annotate/manager runs many channels over storage, and
//     annotate/manager/rest is its REST interface. The mapping engine annotate/rml and the readers and
//     writers of annotate/rdf can be used without the rest.
//   - modelrepo stores namespaces, models, their versions and their content.
//   - flcollect is the federated-learning server that Flower clients connect to
//     (flcollect/flower), with aggregation strategies (flcollect/strategy),
//     privacy mechanisms (flcollect/dp, flcollect/ckks) and an FL repository
//     (flcollect/repository).
//   - apimgmt publishes OpenAPI files: it checks them, lists them in a catalogue
//     with a portal (apimgmt/portal), routes them through a gateway
//     (apimgmt/gateway, or a Kong by apimgmt/kong) and secures them by OpenID
//     Connect (apimgmt/oidc).
//   - multilink bonds several radio links into one layer-2 network and fails over
//     between them. multilink/node is an instance, with a REST interface in
//     multilink/node/rest and pages in multilink/node/page,
//     multilink/host and multilink/wg are the host and the tunnels on Linux.
//   - storage holds the two storage contracts of the building blocks, documents
//     and blobs, with an implementation in memory and drivers for a local disk
//     (storage/disk), MongoDB (storage/mongo) and S3 (storage/s3).
//
// Each building block is an ordinary package. It starts nothing by itself, has no global
// state and takes no signals. Below cmd there is a thin server for each building block,
// and enablers, which runs all of them in one process. Runnable programs are in examples.
package enablers
