// Package annotate turns JSON, CSV and XML messages into RDF, broker to broker.
//
// # Channels
//
// A [Channel] takes the messages of one topic, maps each of them with an RML or
// CARML mapping, and publishes the results on another topic, in order of
// arrival and at least once. It may also note each message on monitoring
// topics, and report those that fail on an error topic. [NewChannel] checks a
// [ChannelConfig]; Start and Stop do the rest.
//
// # Managers
//
// A [Manager] keeps many channels: it creates, finds, changes and removes them,
// stores them through a [storage.Documents], and brings them back after a
// restart. Its Handler is the REST interface of the annotator.
//
// # Brokers
//
// What a channel needs of a broker is the [Broker] interface. Its drivers are
// packages of their own, so that a program links only those it uses;
// [MemoryBroker] is one inside the process. A driver reports with
// [ErrBrokerClosed] or [ErrBrokerUnavailable] what concerns the connection: the
// message is then delivered again. Every other error of a publication concerns
// the message: it has failed and is not tried again.
//
// # Delivery
//
// A message is acknowledged when its output is confirmed or its failure is on
// record, and never before. So nothing is lost when the process or a broker
// dies, and what was not confirmed by then is mapped and published again. The
// messages of a channel in flight are bounded in number and in bytes; a slow
// output holds up the input, and nothing is dropped but monitoring notes.
//
// # Credentials
//
// User names and passwords of brokers are masked wherever settings are shown,
// printed or logged. They are stored encrypted under [Config].Secret, and in
// clear when there is none: then whoever can read the storage can read them.
package annotate
