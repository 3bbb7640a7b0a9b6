// Package mqtt connects channels to MQTT 5 brokers.
//
// A Broker made by New implements annotate.Broker. Messages travel with QoS 1
// in both directions, so that each arrives at least once; duplicates come
// after a lost connection and only then.
//
// # Input
//
// A subscription is a persistent session under the client identifier of the
// settings: what is published while it is away waits in the broker, for at
// most Options.SessionExpiry. A message is acknowledged when Delivery.Ack is
// called and never earlier, and acknowledgements go out in the order of
// arrival (MQTT 5 section 4.6). After a lost connection everything that was
// not acknowledged comes again; what had arrived and was not yet handed out is
// dropped in its favour.
//
// Brokers are told a Receive Maximum (section 3.3.4). Some go beyond it, so
// the messages that wait to be handed out are limited here too, by
// Options.QueueMessages and Options.QueueBytes. At the limit the connection is
// no longer read and the broker feels it through TCP; nothing is dropped, and
// the keep-alive does not hold our own silence against the broker.
//
// # Output
//
// A publisher keeps a window of unconfirmed messages and never waits for one
// confirmation before it sends the next. Order is kept. After a lost
// connection the unconfirmed messages are sent again in their order. Publishers
// have no state at the broker: they connect with a clean start.
//
// # Connections
//
// The first connection is attempted once, within Options.ConnectTimeout. A
// connection that is lost later is made again for ever, with pauses that grow
// from Options.ReconnectMin to Options.ReconnectMax and vary at random.
package mqtt
