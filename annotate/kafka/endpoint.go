package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/IBM/sarama"

	"github.com/iotenablers/enablers/annotate"
)

// The limits of a fetch, in bytes. A first batch that is larger than the limit is returned
// nevertheless, so a message of any size can be fetched (KIP-74).
const (
	fetchPartition = 1 << 20
	fetchTotal     = 16 << 20
)

// standardBatch is the default of message.max.bytes: the size of the largest batch that
// a cluster takes, in bytes.
const standardBatch = 1_048_588

// endpoint is a topic of a cluster, with the settings to connect to it.
type endpoint struct {
	broker   *Broker
	topic    string
	settings Settings
	permit   func() error // before what takes something over from another process; nil permits it
}

// permitted returns why nothing may be taken over at this moment.
func (e *endpoint) permitted() error {
	if e.permit == nil {
		return nil
	}
	return e.permit()
}

// facts are properties of the cluster and the topic.
type facts struct {
	maxBatch int  // of a batch of messages, in bytes
	fences   bool // transactions name the member of the group (KIP-447)
}

func (e *endpoint) addresses() []string {
	return []string{net.JoinHostPort(e.settings.Host, strconv.Itoa(e.settings.Port))}
}

// checkSettings returns an error for settings that are invalid for every cluster.
func (e *endpoint) checkSettings() error {
	s := e.settings
	switch s.SecurityProtocol() {
	case Plaintext, SSL, SASLPlaintext, SASLSSL:
	default:
		return fmt.Errorf("the protocol %q is not known", s.Protocol)
	}
	switch s.Mechanism {
	case "", Plain, ScramSHA256, ScramSHA512:
	default:
		return fmt.Errorf("the SASL mechanism %q is not known", s.Mechanism)
	}
	switch s.OffsetReset {
	case "", Latest, Earliest:
	default:
		return fmt.Errorf("the offset reset %q is not known", s.OffsetReset)
	}
	if e.authenticates() && s.User == "" {
		return fmt.Errorf("the protocol %s needs a user", s.SecurityProtocol())
	}
	return nil
}

func (e *endpoint) authenticates() bool {
	p := e.settings.SecurityProtocol()
	return p == SASLPlaintext || p == SASLSSL
}

// tlsConfig returns the configuration for TLS, or nil for a protocol without.
func (e *endpoint) tlsConfig() *tls.Config {
	switch p := e.settings.SecurityProtocol(); {
	case p != SSL && p != SASLSSL:
		return nil
	case e.broker.opts.TLS == nil:
		return &tls.Config{}
	}
	return e.broker.opts.TLS.Clone()
}

// config returns the configuration that all clients of the endpoint share. The network adds
// TLS.
func (e *endpoint) config(n *network) *sarama.Config {
	o, s := &e.broker.opts, e.settings
	c := sarama.NewConfig()
	c.ClientID = "annotator"
	c.Version = sarama.V2_8_0_0
	c.Net.DialTimeout = o.ConnectTimeout
	c.Net.WriteTimeout = o.ConnectTimeout
	c.Net.ReadTimeout = o.RebalanceTimeout + o.ConnectTimeout // joining a group takes as long as a rebalance
	c.Net.Proxy.Enable, c.Net.Proxy.Dialer = true, n
	c.Metadata.Full = false
	c.Metadata.AllowAutoTopicCreation = false
	c.Metadata.Retry.Max = 2
	c.Metadata.Retry.Backoff = 100 * time.Millisecond
	c.Metadata.Retry.BackoffFunc = n.backoff
	c.Metadata.Timeout = o.ConnectTimeout
	c.Metadata.RefreshFrequency = time.Minute
	if e.authenticates() {
		c.Net.SASL.Enable = true
		c.Net.SASL.User, c.Net.SASL.Password = s.User, s.Password
		c.Net.SASL.Mechanism = sarama.SASLTypePlaintext
		if hash := scramHash(s.Mechanism); hash != nil {
			c.Net.SASL.Mechanism = sarama.SASLMechanism(s.Mechanism)
			c.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient { return &scramClient{hash: hash} }
		}
	}
	return c
}

// consumerConfig is the configuration of a member of a consumer group. static is the name of
// a static member, or empty.
func (e *endpoint) consumerConfig(n *network, static string) *sarama.Config {
	o := &e.broker.opts
	c := e.config(n)
	c.Consumer.Return.Errors = true
	c.Consumer.IsolationLevel = sarama.ReadCommitted
	c.Consumer.Fetch.Default = fetchPartition
	c.Consumer.Fetch.MaxBytes = fetchTotal
	c.Consumer.MaxWaitTime = 250 * time.Millisecond
	// Partitions wait while the queue is full. To unsubscribe them for that time
	// gains nothing.
	c.Consumer.MaxProcessingTime = 5 * time.Second
	c.Consumer.Retry.Backoff = 250 * time.Millisecond
	c.Consumer.Offsets.Initial = sarama.OffsetOldest // settle has set the offset, except where messages have expired
	c.Consumer.Offsets.AutoCommit.Interval = o.CommitInterval
	c.Consumer.Offsets.Retry.Max = 1
	c.Consumer.Group.InstanceId = static
	c.Consumer.Group.Session.Timeout = o.SessionTimeout
	c.Consumer.Group.Heartbeat.Interval = o.HeartbeatInterval
	c.Consumer.Group.Rebalance.Timeout = o.RebalanceTimeout
	c.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{sarama.NewBalanceStrategyRange()}
	c.Consumer.Group.Rebalance.Retry.Max = 4
	c.Consumer.Group.Rebalance.Retry.Backoff = 250 * time.Millisecond
	return c
}

// check connects once, without retries, and checks that the topic exists and that the user
// may use it.
func (e *endpoint) check(ctx context.Context) (facts, error) {
	n := e.newNetwork()
	defer n.abort()
	return within(ctx, e.broker.opts.ConnectTimeout, n.abort, func() (facts, error) {
		config := e.config(n)
		config.Net.ReadTimeout = e.broker.opts.ConnectTimeout
		config.Metadata.Retry.Max = 0
		client, err := sarama.NewClient(e.addresses(), config)
		if err != nil {
			return facts{}, err
		}
		defer client.Close()
		if err := client.RefreshMetadata(e.topic); err != nil {
			return facts{}, err
		}
		partitions, err := client.Partitions(e.topic)
		if err != nil {
			return facts{}, err
		}
		if len(partitions) == 0 {
			return facts{}, sarama.ErrUnknownTopicOrPartition
		}
		return e.factsFrom(client)
	})
}

// factsFrom requests the facts. For a user without the right to them it returns the
// defaults of clusters.
func (e *endpoint) factsFrom(client sarama.Client) (facts, error) {
	f := facts{maxBatch: standardBatch}
	broker := client.LeastLoadedBroker()
	if broker == nil {
		return f, nil
	}
	versions, err := broker.ApiVersions(&sarama.ApiVersionsRequest{Version: 0})
	if errors.Is(err, annotate.ErrBrokerNotListed) {
		return f, err
	}
	if err == nil {
		const txnOffsetCommit, withMember = 28, 3
		for _, key := range versions.ApiKeys {
			f.fences = f.fences || (key.ApiKey == txnOffsetCommit && key.MaxVersion >= withMember)
		}
	}
	described, err := broker.DescribeConfigs(&sarama.DescribeConfigsRequest{
		Version:   1,
		Resources: []*sarama.ConfigResource{{Type: sarama.TopicResource, Name: e.topic, ConfigNames: []string{"max.message.bytes"}}},
	})
	if err != nil {
		return f, nil
	}
	for _, resource := range described.Resources {
		for _, entry := range resource.Configs {
			if size, err := strconv.Atoi(entry.Value); err == nil && entry.Name == "max.message.bytes" && size > 0 {
				f.maxBatch = size
			}
		}
	}
	return f, nil
}

// within runs work, and calls abort when ctx or the limit ends, which makes work fail soon.
// It returns errors with their cause, as unavailable does.
func within[T any](ctx context.Context, limit time.Duration, abort func(), work func() (T, error)) (T, error) {
	limited, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %s", limit))
	defer cancel()
	var none T
	if limited.Err() != nil {
		return none, unavailable(context.Cause(limited))
	}
	stop := context.AfterFunc(limited, abort)
	defer stop()
	result, err := work()
	switch {
	case err == nil:
		return result, nil
	case limited.Err() != nil:
		return none, unavailable(context.Cause(limited))
	}
	return none, unavailable(err)
}

// unavailable wraps an error of a cluster with annotate.ErrBrokerUnavailable and a hint. An
// invalid topic name is not an error of the cluster.
func unavailable(err error) error {
	switch {
	case err == nil || errors.Is(err, annotate.ErrBrokerUnavailable) || errors.Is(err, annotate.ErrBrokerClosed):
		return err
	case errors.Is(err, sarama.ErrInvalidTopic):
		return err
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%w: the cluster closed the connection, as it does on wrong credentials or another security protocol: %w",
			annotate.ErrBrokerUnavailable, err)
	case errors.Is(err, sarama.ErrUnknownTopicOrPartition):
		return fmt.Errorf("%w: the topic does not exist: %w", annotate.ErrBrokerUnavailable, err)
	case errors.Is(err, sarama.ErrSASLAuthenticationFailed):
		return fmt.Errorf("%w: the user name or the password is wrong: %w", annotate.ErrBrokerUnavailable, err)
	case errors.Is(err, sarama.ErrUnsupportedSASLMechanism):
		return fmt.Errorf("%w: the cluster does not offer the SASL mechanism: %w", annotate.ErrBrokerUnavailable, err)
	case errors.Is(err, sarama.ErrTopicAuthorizationFailed):
		return fmt.Errorf("%w: the user has no right to the topic: %w", annotate.ErrBrokerUnavailable, err)
	case errors.Is(err, sarama.ErrGroupAuthorizationFailed):
		return fmt.Errorf("%w: the user has no right to the consumer group: %w", annotate.ErrBrokerUnavailable, err)
	case errors.Is(err, sarama.ErrTransactionalIDAuthorizationFailed):
		return fmt.Errorf("%w: the user has no right to the transactional id: %w", annotate.ErrBrokerUnavailable, err)
	case errors.Is(err, sarama.ErrClusterAuthorizationFailed):
		return fmt.Errorf("%w: the user has no right to write idempotently: %w", annotate.ErrBrokerUnavailable, err)
	}
	return fmt.Errorf("%w: %w", annotate.ErrBrokerUnavailable, err)
}
