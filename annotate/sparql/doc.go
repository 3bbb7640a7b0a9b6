// Package sparql is the driver of SPARQL 1.1 stores as outputs of channels: by SPARQL 1.1
// Update (https://www.w3.org/TR/sparql11-update/) or the Graph Store HTTP Protocol
// (https://www.w3.org/TR/sparql11-http-rdf-update/).
//
// Each message is a named graph. Its name is the topic of the output, a slash if the topic
// does not end with one of / # : =, and the identity of the message, which the channel makes
// of its own identifier, the input topic, the position of the message (Kafka), and its
// payload. A message that is written again, after an outage, a crash or a redelivery, replaces
// its graph. So every message's statements are there once. Equal messages of MQTT have one
// graph, because MQTT does not tell a repetition from an equal message.
//
// A message is confirmed when the store has answered with 200, 201 or 204. The answers 400,
// 413, 414 and 422 are about the statements of a message, which then is refused
// permanently; a request with several messages is divided until the message is found.
// Everything else is repeated until it succeeds, with pauses from Options.RetryMin to
// Options.RetryMax.
package sparql
