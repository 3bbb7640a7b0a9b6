package kafkatest

import (
	"context"
	"github.com/iotenablers/enablers/annotate/kafka"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

// Cluster is a cluster of one broker inside the process, of package kfake. It keeps its data
// in memory.
type Cluster struct {
	mqtttest.Address
	*kfake.Cluster
	tb testing.TB
}

// Embedded starts a cluster inside the process. Session timeouts of consumer groups may be as
// short as 100 ms, so that tests need not wait for lost members.
func Embedded(tb testing.TB, opts ...kfake.Opt) *Cluster {
	tb.Helper()
	opts = append([]kfake.Opt{kfake.NumBrokers(1), kfake.ListenFn(listenCorrected),
		kfake.GroupMinSessionTimeout(100 * time.Millisecond)}, opts...)
	cluster, err := kfake.NewCluster(opts...)
	require.NoError(tb, err, "start the embedded cluster")
	tb.Cleanup(cluster.Close)
	host, text, err := net.SplitHostPort(cluster.ListenAddrs()[0])
	require.NoError(tb, err)
	port, err := strconv.Atoi(text)
	require.NoError(tb, err)
	return &Cluster{Address: mqtttest.Address{Host: host, Port: port}, Cluster: cluster, tb: tb}
}

// Topic creates a topic with a number of partitions. Its batches may have as
// many bytes as maxBatch says; zero means what clusters allow by default.
func (c *Cluster) Topic(name string, partitions, maxBatch int) {
	c.tb.Helper()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic = name
	topic.NumPartitions = int32(partitions)
	topic.ReplicationFactor = 1
	if maxBatch > 0 {
		size := strconv.Itoa(maxBatch)
		config := kmsg.NewCreateTopicsRequestTopicConfig()
		config.Name, config.Value = "max.message.bytes", &size
		topic.Configs = append(topic.Configs, config)
	}
	request := kmsg.NewPtrCreateTopicsRequest()
	request.Topics = append(request.Topics, topic)
	response, err := request.RequestWith(c.context(), c.client())
	require.NoError(c.tb, err)
	require.NoError(c.tb, kerr.ErrorForCode(response.Topics[0].ErrorCode), "create topic %q", name)
}

// Grow adds partitions to a topic, until it has so many.
func (c *Cluster) Grow(name string, partitions int) {
	c.tb.Helper()
	topic := kmsg.NewCreatePartitionsRequestTopic()
	topic.Topic, topic.Count = name, int32(partitions)
	request := kmsg.NewPtrCreatePartitionsRequest()
	request.Topics = append(request.Topics, topic)
	response, err := request.RequestWith(c.context(), c.client())
	require.NoError(c.tb, err)
	require.NoError(c.tb, kerr.ErrorForCode(response.Topics[0].ErrorCode), "add partitions to topic %q", name)
}

// Committed returns everything that a topic has now, without what was written
// in transactions that are open or undone, in order for each partition.
func (c *Cluster) Committed(name string, partitions int) []*kgo.Record {
	c.tb.Helper()
	ends := map[int32]int64{}
	client := c.client(kgo.ConsumeTopics(name), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	request := kmsg.NewPtrListOffsetsRequest()
	request.IsolationLevel = 1
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = name
	for p := range partitions {
		partition := kmsg.NewListOffsetsRequestTopicPartition()
		partition.Partition, partition.Timestamp = int32(p), -1
		topic.Partitions = append(topic.Partitions, partition)
	}
	request.Topics = append(request.Topics, topic)
	response, err := request.RequestWith(c.context(), client)
	require.NoError(c.tb, err)
	for _, p := range response.Topics[0].Partitions {
		if p.Offset > 0 {
			ends[p.Partition] = p.Offset
		}
	}
	var records []*kgo.Record
	for len(ends) > 0 {
		fetches := client.PollFetches(c.context())
		require.NoError(c.tb, fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				records = append(records, r)
			}
			if r.Offset+1 >= ends[r.Partition] {
				delete(ends, r.Partition)
			}
		})
	}
	return records
}

// Settings returns topic settings for the cluster, for a group that starts
// with the oldest messages.
func (c *Cluster) Settings(topic, group string) annotate.Topic {
	return annotate.Topic{
		Name: topic, Broker: kafka.Type,
		Settings: kafka.Settings{Host: c.Host, Port: c.Port, GroupID: group, OffsetReset: kafka.Earliest},
	}
}

func (c *Cluster) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), adminLimit)
	c.tb.Cleanup(cancel)
	return ctx
}

func (c *Cluster) client(opts ...kgo.Opt) *kgo.Client {
	client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(c.String()))...)
	require.NoError(c.tb, err)
	c.tb.Cleanup(client.Close)
	return client
}

// Change changes the settings of a topic.
func Change(topic *annotate.Topic, change func(*kafka.Settings)) {
	s := topic.Settings.(kafka.Settings)
	change(&s)
	topic.Settings = s
}
