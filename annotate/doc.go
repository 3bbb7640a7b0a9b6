// Package annotate turns JSON, CSV and XML messages into RDF, broker to broker.
//
// # Channels
//
// A [Channel] takes the messages of one topic, maps each of them with an RML or
// CARML mapping, and publishes the results on another topic, in order of
// arrival and at least once. It can also publish a note on monitoring topics for
// each message, and report messages that fail on an error topic. [NewChannel]
// checks a [ChannelConfig]; Start and Stop do the rest. Package manager, below
// this one, keeps many channels over a storage and serves their REST interface.
//
// # Brokers
//
// A kind of broker is a [Driver]: a [Broker], which makes the connections, and a
// [SettingsDriver], which reads, checks and completes the settings of a topic's
// connection. Packages mqtt and kafka have one each, so that a program links only
// those it uses; [MemoryDriver] is one inside the process. The suites of package
// brokertest hold drivers to the contract. Errors of a connection match
// [ErrBrokerClosed] or [ErrBrokerUnavailable]: the message is then delivered
// again. Every other error of a publication is about the message: it has failed
// and is not tried again.
//
// # Delivery
//
// A message is acknowledged when its output is confirmed or its failure is on
// record, and never before. So nothing is lost when the process or a broker
// fails, and what was not confirmed by then is mapped and published again. The
// messages of a channel in flight are bounded in number and in bytes; a slow
// output slows the input down, and nothing is dropped but monitoring notes.
//
// # Secrets
//
// Secrets in settings, such as passwords, are masked wherever settings are
// shown, printed or logged.
package annotate
