// Package nats connects channels to NATS JetStream. It is a module of its own,
// which shows that a kind of broker can be added without a change in annotate:
// its settings, its driver and its connections are here, and a program lists the
// driver in annotate.Environment.
//
// Messages live in a stream, which must be there. A subscription reads its subject
// in the order of the stream. The sequence number up to which everything is
// acknowledged is kept in a key-value bucket, under the name of the subscription;
// after a lost connection the subscription reads on from there. A publisher sends
// unconfirmed messages again on a new connection, in order, with identifiers by
// which the server drops duplicates.
package nats
