// Package rml is an RML and CARML mapping engine for messages: it turns JSON,
// CSV and XML into RDF. Bytes go in, bytes come out; it knows no brokers and
// no HTTP.
//
// # Three steps
//
// [Load] reads a mapping in Turtle and checks it; what is wrong with it is a
// [*MappingError] that names the mapping node. [Compile] turns the mapping
// into a [Plan]: expressions are parsed, constants are rendered, and every
// logical source is resolved to an input. A plan is immutable and safe for
// concurrent use. A [Mapper] runs a plan: [Mapper.Append] maps one message,
// [Mapper.Run] maps whole files. A mapper keeps its buffers from message to
// message, so one goroutine at a time uses it, and mapping allocates nothing
// once the buffers have grown to the size of the messages.
//
// # Vocabularies
//
// The legacy vocabulary (rr, the rml of semweb.mmlab.be, ql and carml) and
// RML-Core of http://w3id.org/rml/ may be mixed in one mapping. Where the two
// differ, each node follows the vocabulary it is written in: natural datatypes
// belong to the new one, and a term that cannot be made (an IRI with a space,
// say) drops its statements under the legacy one and is an error under the new
// one. [Options].Strict makes it an error under both.
//
// # Errors
//
// A message is mapped whole or not at all: when Append returns an error, a
// [*MessageError] that names the mapping node and the place in the message,
// it has added nothing to the output.
//
// # Blank nodes
//
// Within one message equal expressions give equal blank nodes. Labels carry a
// digest of the message, so blank nodes of different messages never meet and
// the same message always gives the same labels. A batch run is one message.
package rml
