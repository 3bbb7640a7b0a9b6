// Package kafka connects channels to Apache Kafka.
//
// A Broker made by New implements annotate.Broker and annotate.Transactor. The
// client underneath is sarama; this package adds what a channel needs beyond
// it: bounded queues, acknowledgements that are void once a partition is
// another's, a publisher that never gives a message up, and transactions that
// survive rebalances.
//
// # Delivery
//
// A subscription is a member of the consumer group of its settings. An
// acknowledged message is committed within Options.CommitInterval, and before
// a partition is given back or the subscription closed; after a crash what
// came in that time comes again. A partition of which the group has no offset
// starts where the settings say, and that start is committed before anything is
// read, so that a crash before the first acknowledgement skips nothing. With
// "latest", partitions that are added to the topic later are read from their
// beginning: their first messages are not older than the group. Messages whose
// offset has expired are passed over.
//
// A publisher is idempotent and waits for all in-sync replicas. While the
// cluster is away messages wait in the window and are sent again. Only a
// message that the cluster will never take (too large, not allowed) is
// confirmed with an error, and the others go on. Topics are never created by
// asking for them.
//
// # Order
//
// Messages of a partition are handed out in their order, and messages with one
// key are in one partition. Outputs are put into partitions by the hash that
// the Java client uses, so that topics written by both can be joined; without
// a key the partition is random. Confirmations come in the order of the Publish
// calls, over all partitions. What is sent again after a lost connection can
// come twice, but a message never comes for the first time before an older one
// of its partition has.
//
// # Rebalances
//
// When the group shares out its partitions anew, what was not handed out is
// dropped, and what was handed out has three quarters of
// Options.RebalanceTimeout to be acknowledged. Then the offsets are committed
// and the partitions released. From then on Delivery.Revoked is true for what
// is left. The same goes at once, without waiting, for everything that is
// handed out when the group's coordinator cannot be reached: the cluster may
// have given the partitions to another member, and the messages come again.
// Leaving and joining is dynamic; members of the group have no fixed names.
//
// # Exactly once
//
// Transact commits outputs together with the offsets of their inputs, after
// Options.TransactionMessages or Options.TransactionInterval. The offsets name
// the member and the generation of the group (KIP-447), so that a member that
// was replaced cannot commit. A transaction is undone by making a new producer
// of the same transactional id, and the group is joined again only after that:
// by then the cluster knows what of the earlier transactions is committed.
// Subscriptions read only what is committed, of any topic.
//
// # Limits
//
// What has arrived and was not handed out is bounded by Options.QueueMessages
// and Options.QueueBytes. Beyond that the client holds per broker at most about
// three fetches of 16 MiB, of 1 MiB a partition, or of one message where that
// is larger. A connection refuses responses of less than 4 bytes or more than
// 100 MiB, the first one of more than 1 MiB, before anything is allocated for
// them, and says what the peer sent. A publisher holds its window. Batches are as large as the topic's max.message.bytes,
// which the client requests when the connection is made and assumes to be Kafka's
// default where the user has no right to ask.
package kafka
