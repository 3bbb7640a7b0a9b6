// Package mqtt connects channels to MQTT brokers.
//
// A Broker from New implements annotate.Broker. Messages travel with QoS 1 in
// both directions, so that each arrives at least once; duplicates come after a
// lost connection and only then.
//
// # Versions
//
// There are two drivers: this package speaks MQTT 5 with
// github.com/eclipse/paho.golang, and package internal/mqtt3 MQTT 3.1.1. The setting
// "version" of a topic's broker selects one. Without it MQTT 5 is offered first, and
// MQTT 3.1.1 to a broker that refuses it: by reason code 0x84, by an answer in the
// form of MQTT 3.1.1, or by closing the connection without an answer, twice. A
// broker that cannot be reached is not asked for MQTT 3.1.1. A subscription or
// publisher stays with its version for its lifetime; the next one finds out anew.
// With the version "5" a broker that does not speak it is an error that names the
// version.
//
// What is lost with MQTT 3.1.1 is described in package internal/mqtt3: the reason for
// which a message is refused, above all.
//
// # Input
//
// A subscription is a persistent session under the client identifier of the
// settings: what is published while it is away waits in the broker, for at
// most Options.SessionExpiry. A message is acknowledged when annotate.Delivery.Ack is
// called and never earlier, and acknowledgements go out in the order of
// arrival (MQTT 5 section 4.6). After a lost connection everything that was
// not acknowledged comes again; what had arrived and was not yet handed out is
// dropped in its favour.
//
// Brokers receive a Receive Maximum (section 3.3.4). Some go beyond it, so
// the messages that wait to be handed out are limited here too, by
// Options.QueueMessages and Options.QueueBytes. At the limit the connection is
// no longer read, so TCP holds the broker back; nothing is dropped. PINGREQ
// packets are still sent, so that the broker does not end the connection. A
// missing PINGRESP ends it neither, since the driver does not read it then.
//
// # Several instances
//
// With the setting "shareName" the subscription is a shared one: the broker
// gives each message to one of the subscribers of that name (section 4.8.2).
// Where several instances run one channel, each needs a session of its own.
// annotate.ConnectOptions.Instance is therefore appended to the client identifier, with
// a hyphen; where that would be longer than the 23 bytes which every broker
// has to take, the end is a hash of both instead. Instances need names that
// stay the same when they are started again, or they do not find their
// sessions.
//
// Each member of the group receives its share in order; between members there
// is none. Retained messages do not come.
//
// The session of a member that is away still belongs to the group. Mosquitto
// 2.0 gives it its share nevertheless, half of the messages with two members,
// and keeps that and what was not acknowledged until the member is back; other
// members never see it. When the session ends, by its expiry or by Forget,
// mosquitto drops what is in it, although the standard recommends to pass it
// on. Nothing is lost as long as a process connects with the same client
// identifier and instance in time, which may be another one: the successor of
// an instance that is removed subscribes as that instance and takes what is
// there. Options.MemberExpiry is how long such sessions are kept.
//
// # Output
//
// A publisher keeps a window of unconfirmed messages and never waits for one
// confirmation before it sends the next. Order is kept. After a lost
// connection the unconfirmed messages are sent again in their order, marked as
// duplicates. Publishers have no state at the broker: they connect with a
// clean start.
//
// A message that the broker refuses is confirmed with its reason, and those
// behind it go on. That includes one upon which the broker closes the
// connection each time: after a few attempts, over twice
// Options.ReconnectMax, it is given up alone.
//
// # Connections
//
// The first connection is attempted once, within Options.ConnectTimeout. A
// connection that is lost later is attempted again without end, with pauses
// that grow from Options.ReconnectMin to Options.ReconnectMax and vary at
// random. The method Reconnects() uint64 of subscriptions and publishers counts
// how often.
package mqtt
