// Package mqtt3 connects channels to brokers that speak MQTT 3.1.1.
//
// Package mqtt offers MQTT 5 first and turns to this package when a broker
// refuses that, or when the settings of a topic say "3.1.1". What its
// documentation says about input, output and connections holds here too, with
// these differences of the protocol.
//
// # What MQTT 3.1.1 does not have
//
// A session does not expire: the broker keeps it until the subscription is
// forgotten, or as long as the operator lets it. A subscription without a
// client identifier makes one up, so that it loses nothing while its
// connection is made again, and erases the session when it is closed; a
// process that dies leaves it behind.
//
// There is no Receive Maximum. What holds the broker back is the limit of
// Options.QueueMessages and Options.QueueBytes, at which the connection is no
// longer read. We still send PINGREQ packets and do not expect answers
// meanwhile, so that neither side takes the other for dead. Confirmations of
// messages that are published come on another connection and are not held up.
//
// A broker cannot refuse a message (section 3.3.5). It may confirm and drop
// it, as mosquitto does with one that the user may not publish, and no
// error follows. Or it may close the connection; a message upon which it does
// so each time is given up alone.
//
// Nor does it say why it ends a connection. "The broker closed the connection"
// may mean that another client has the same client identifier.
//
// Retained messages come with every SUBSCRIBE. So that they do not come again
// with each connection, none is sent where the broker has kept the session;
// when the channel is started anew they do come again.
//
// # What is used of the library
//
// The packets are those of github.com/eclipse/paho.mqtt.golang/packets. Its
// client cannot hold the contract. Measured with version 1.5.1 against
// mosquitto 2.0.11 and AutoAckDisabled: of 100 clients that acknowledged 20
// messages and then called Disconnect(1000), 25 lost acknowledgements, 306 of
// 2000, because Disconnect does not wait for those on their way to the writer;
// Close has to flush them. A SUBACK with two return codes for one topic ends
// the whole process (an index out of range on a goroutine of the library). By
// its source, Publish fails after 30 seconds when the connection is stuck, and
// memory for a packet is set aside up to the 256 MB of the protocol.
//
// So the sessions are those of package mqtt, and the same code serves both.
package mqtt3
