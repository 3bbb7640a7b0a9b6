// Package enablers is the root of a library of building blocks for edge-IoT
// platforms. It holds no code: import the building block you need.
//
//   - annotate turns JSON, CSV and XML messages into RDF, broker to broker,
//     with RML and CARML mappings. Its subpackages annotate/rml (the mapping
//     engine) and annotate/rdf (readers and writers) stand on their own.
//   - modelrepo keeps namespaces, models, their versions and their content.
//   - flcollect is the federated-learning server that Flower clients connect to:
//     strategies, privacy mechanisms, an FL repository.
//   - apimgmt publishes OpenAPI files: checked, catalogued, routed through a
//     gateway (apimgmt/gateway, or a Kong) and secured by OpenID Connect
//     (apimgmt/oidc), with a portal.
//   - multilink bonds several radio links into one layer-2 network and fails over
//     between them.
//   - storage holds the two storage contracts the building blocks persist
//     through, an in-memory implementation, and drivers for a local
//     disk, MongoDB and S3.
//
// Each building block is an ordinary package that starts nothing by itself,
// keeps no globals and takes no signals; cmd holds a thin server for each.
package enablers
