// Package ngsild is the driver of NGSI-LD brokers as outputs of channels (ETSI GS CIM 009
// V1.8.1). It turns the graph of a message into entities and writes them with POST
// /ngsi-ld/v1/entityOperations/upsert (section 6.15.3.1).
//
// # Entities
//
// Each subject with an IRI is an entity in the normalised representation (section 4.5). Names
// are full IRIs, so that they need no @context.
//
//	statement                          becomes
//	rdf:type                           type; required
//	string                             Property; numbers and booleans are those of JSON
//	string with a language             LanguageProperty
//	other datatype                     Property with @type and @value
//	geo:wktLiteral, geo:geoJSONLiteral GeoProperty
//	IRI                                Relationship
//	blank node                         Property whose value is an object with its statements
//
// An xsd:dateTime with a time zone is a DateTime in UTC, and an xsd:date without one a Date
// (section 4.6.3). A number that JSON cannot hold exactly keeps @type and @value. Several
// values of one predicate are several instances of the attribute (section 4.5.5). The first one
// is the default instance, the others have the topic of the output and 2, 3 and so on
// as datasetId, in the order of the statements.
//
// A graph that cannot be said in this way is an error that names the statement: an
// entity without a type, a blank node that no entity has or that two have, values of one
// predicate that are attributes of different kinds, and names that NGSI-LD reserves.
//
// # Delivery
//
// A message is confirmed when the broker has accepted all its entities. If the broker refuses one, the
// message is refused permanently, and its other entities may be written. A request has many messages, but
// an entity only once, so that an entity has the values of the last message. Requests that fail otherwise
// are repeated until they succeed, with pauses from Options.RetryMin to Options.RetryMax. An entity has the
// values of the last message in the end; while messages are written again it may have older ones for a
// moment.
package ngsild
