package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"github.com/iotenablers/enablers/bench/internal/rig"
	"github.com/iotenablers/enablers/bench/stream/workload"
)

// partitions is how many each topic has.
const partitions = 4

// cluster is a Kafka as the benchmark itself uses it.
type cluster struct {
	sarama.Client
	admin sarama.ClusterAdmin
}

func dialKafka(address string) (*cluster, error) {
	config := sarama.NewConfig()
	config.Version = sarama.V2_8_0_0
	config.Consumer.IsolationLevel = sarama.ReadCommitted
	config.Consumer.Fetch.Default = 4 << 20
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Partitioner = sarama.NewHashPartitioner
	config.Producer.Idempotent = true
	config.Net.MaxOpenRequests = 1
	client, err := sarama.NewClient([]string{address}, config)
	if err != nil {
		return nil, err
	}
	admin, err := sarama.NewClusterAdminFromClient(client)
	if err != nil {
		return nil, err
	}
	return &cluster{client, admin}, nil
}

// create makes a topic and waits until it can be used.
func (c *cluster) create(topic string) error {
	err := c.admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: partitions, ReplicationFactor: 1}, false)
	if err != nil {
		return fmt.Errorf("create topic %q: %w", topic, err)
	}
	deadline := time.Now().Add(rig.Patience)
	for {
		err := c.RefreshMetadata(topic)
		if err == nil {
			_, err = c.written(topic)
		}
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("await topic %q: %w", topic, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// written returns how many records the topic has had, marks of transactions
// included.
func (c *cluster) written(topic string) (int64, error) {
	var sum int64
	for partition := range int32(partitions) {
		end, err := c.GetOffset(topic, partition, sarama.OffsetNewest)
		if err != nil {
			return 0, err
		}
		sum += end
	}
	return sum, nil
}

// fill writes messages 0 to total-1, as fast as it can, or at a rate.
func (c *cluster) fill(ctx context.Context, topic string, total int, rate float64) error {
	producer, err := sarama.NewAsyncProducerFromClient(c.Client)
	if err != nil {
		return err
	}
	var failure error
	var waiting sync.WaitGroup
	waiting.Go(func() {
		for range producer.Successes() {
		}
	})
	waiting.Go(func() {
		for e := range producer.Errors() {
			failure = e
		}
	})
	w := workload.NewWeather()
	begin := time.Now()
	for n := range total {
		if rate > 0 {
			if ahead := time.Until(begin.Add(time.Duration(float64(n) / rate * 1e9))); ahead > 0 {
				time.Sleep(ahead)
			}
		}
		if ctx.Err() != nil {
			break
		}
		value := append([]byte(nil), w.Message(n)...)
		producer.Input() <- &sarama.ProducerMessage{
			Topic: topic, Key: sarama.ByteEncoder(workload.Key(n)), Value: sarama.ByteEncoder(value),
		}
	}
	producer.AsyncClose()
	waiting.Wait()
	return errors.Join(failure, ctx.Err())
}

// audit enters everything that is committed on a topic into the ledger.
func (c *cluster) audit(topic string, ledger *workload.Ledger) error {
	consumer, err := sarama.NewConsumerFromClient(c.Client)
	if err != nil {
		return err
	}
	defer consumer.Close()
	var reading sync.WaitGroup
	failures := make([]error, partitions)
	for partition := range int32(partitions) {
		reading.Go(func() { failures[partition] = c.auditPartition(consumer, topic, partition, ledger) })
	}
	reading.Wait()
	return errors.Join(failures...)
}

func (c *cluster) auditPartition(consumer sarama.Consumer, topic string, partition int32, ledger *workload.Ledger) error {
	end, err := c.GetOffset(topic, partition, sarama.OffsetNewest)
	if err != nil || end == 0 {
		return err
	}
	from, err := consumer.ConsumePartition(topic, partition, sarama.OffsetOldest)
	if err != nil {
		return err
	}
	defer from.Close()
	// The last records may be marks of transactions, which do not come: an
	// idle second at the end is the end.
	idle := time.NewTimer(rig.Patience)
	defer idle.Stop()
	for {
		select {
		case m := <-from.Messages():
			ledger.Enter(m.Value)
			if m.Offset+1 == end {
				return nil
			}
			if end-m.Offset < 100 {
				idle.Reset(time.Second)
			} else {
				idle.Reset(rig.Patience)
			}
		case <-idle.C:
			return nil // the ledger counts what is missing then as lost
		}
	}
}
