// Package kafka connects channels to Apache Kafka.
//
// A Broker from New implements annotate.Broker and annotate.Transactor. The client is
// sarama. This package adds what a channel needs beyond it: bounded queues,
// acknowledgements that end with the assignment of a partition, a publisher that keeps
// messages until they are confirmed, and transactions that survive rebalances.
//
// # Delivery
//
// A subscription is a member of the consumer group of its settings. An
// acknowledged message is committed within Options.CommitInterval, and before
// a partition is released or the subscription closed. After a crash the messages of that
// time are delivered again. A partition without an offset of the group starts where the
// settings say. The start is committed before anything is read, so that a crash before the
// first acknowledgement skips nothing. With "latest", partitions that are added to the topic
// later are read from their beginning: their first messages are not older than the group.
// Expired messages are skipped.
//
// A publisher is idempotent and waits for all in-sync replicas. While the
// cluster is unavailable, messages wait in the window and are sent again. Only a message
// that the cluster will never accept (too large, not allowed) is confirmed with an error.
// Its successors are sent. Requests never create topics.
//
// # Order
//
// Messages of a partition are handed out in their order, and messages with one
// key are in one partition. Outputs are assigned to partitions by the hash that
// the Java client uses, so that topics written by both can be joined; without a
// key the partition is random. Confirmations come in the order of the Publish
// calls, over all partitions. What is sent again after a lost connection can
// come twice, but a message never comes for the first time before an older one
// of its partition has.
//
// # Rebalances
//
// When the group rebalances, messages in the queue are dropped, and messages in process have
// three quarters of Options.RebalanceTimeout to be acknowledged. Then the offsets are
// committed and the partitions released, and Delivery.Revoked is true for the messages that
// are left. If the coordinator of the group cannot be reached, all messages in process are
// revoked at once: the cluster may have assigned the partitions to another member, and the
// messages are delivered again. Membership is dynamic: members have no fixed names.
//
// # Exactly once
//
// Transact commits outputs together with the offsets of their inputs, after
// Options.TransactionMessages or Options.TransactionInterval. The offsets name the member
// and the generation of the group (KIP-447), so that a member that was replaced cannot
// commit. To undo a transaction, a new producer is created with the same transactional id,
// and then the group is joined again: at that time the outcome of the earlier transactions
// is known. Subscriptions read committed messages only, of any topic.
//
// # Limits
//
// Options.QueueMessages and Options.QueueBytes bound the messages that have arrived and were
// not handed out. In addition the client holds about three fetches of 16 MiB for each broker,
// with 1 MiB a partition, or one message where that is larger. A connection refuses responses
// of less than 4 bytes or more than 100 MiB, and a first one of more than 1 MiB, before it
// allocates memory for them; the error shows the response. A batch has at most 256 MiB when
// it is decompressed, unless the program sets the library's MaxDecompressedBatchSize; a larger
// one is an error of the subscription, which does not get past it. A publisher holds its window.
// Batches are as large as the topic's max.message.bytes, which the client requests when it
// connects. Without the right to request it, Kafka's default applies.
package kafka
