package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// adminLimit bounds one request to the broker.
const adminLimit = 2 * time.Minute

// answers requests the brokers of the cluster. It returns nil when the broker is among them,
// which is when it serves its clients.
func answers(ctx context.Context, client *kgo.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request := kmsg.NewPtrMetadataRequest()
	request.Topics = []kmsg.MetadataRequestTopic{}
	response, err := request.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	if len(response.Brokers) == 0 {
		return errors.New("the cluster has no broker")
	}
	return nil
}

// Topic creates a topic with a number of partitions and waits until it can be
// used.
func (k *Kafka) Topic(name string, partitions int) {
	k.tb.Helper()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic = name
	topic.NumPartitions = int32(partitions)
	topic.ReplicationFactor = 1
	request := kmsg.NewPtrCreateTopicsRequest()
	request.Topics = append(request.Topics, topic)
	k.administer("create topic "+name, func(ctx context.Context, client *kgo.Client) error {
		response, err := request.RequestWith(ctx, client)
		if err != nil {
			return err
		}
		for _, t := range response.Topics {
			if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
				return err
			}
		}
		return led(ctx, client, name, partitions)
	})
}

// led waits until every partition of the topic has a leader.
func led(ctx context.Context, client *kgo.Client, name string, partitions int) error {
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = &name
	request := kmsg.NewPtrMetadataRequest()
	request.Topics = append(request.Topics, topic)
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		response, err := request.RequestWith(ctx, client)
		if err != nil {
			return err
		}
		leaders := 0
		for _, t := range response.Topics {
			for _, p := range t.Partitions {
				if p.ErrorCode == 0 && p.Leader >= 0 {
					leaders++
				}
			}
		}
		if leaders == partitions {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d partitions have a leader: %w", leaders, partitions, ctx.Err())
		}
	}
}

// Right is a right of a user when [Options.Authorize] is set.
type Right struct {
	resource  kmsg.ACLResourceType
	name      string
	operation kmsg.ACLOperation
}

// ReadTopic is the right to read a topic.
func ReadTopic(name string) Right {
	return Right{resource: kmsg.ACLResourceTypeTopic, name: name, operation: kmsg.ACLOperationRead}
}

// WriteTopic is the right to write to a topic.
func WriteTopic(name string) Right {
	return Right{resource: kmsg.ACLResourceTypeTopic, name: name, operation: kmsg.ACLOperationWrite}
}

// JoinGroup is the right to be a member of a consumer group.
func JoinGroup(name string) Right {
	return Right{resource: kmsg.ACLResourceTypeGroup, name: name, operation: kmsg.ACLOperationRead}
}

// Allow grants rights to a user. They are in effect when it returns.
func (k *Kafka) Allow(user string, rights ...Right) {
	k.tb.Helper()
	request := kmsg.NewPtrCreateACLsRequest()
	for _, right := range rights {
		rule := kmsg.NewCreateACLsRequestCreation()
		rule.ResourceType = right.resource
		rule.ResourceName = right.name
		rule.Operation = right.operation
		rule.ResourcePatternType = kmsg.ACLResourcePatternTypeLiteral
		rule.Principal, rule.Host = "User:"+user, "*"
		rule.PermissionType = kmsg.ACLPermissionTypeAllow
		request.Creations = append(request.Creations, rule)
	}
	k.administer("give rights to "+user, func(ctx context.Context, client *kgo.Client) error {
		response, err := request.RequestWith(ctx, client)
		if err != nil {
			return err
		}
		for _, result := range response.Results {
			if err := kerr.ErrorForCode(result.ErrorCode); err != nil {
				return err
			}
		}
		return nil
	})
}

// administer runs a function with a client that has all rights.
func (k *Kafka) administer(what string, do func(context.Context, *kgo.Client) error) {
	k.tb.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(k.Address().String()))
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), adminLimit)
		defer cancel()
		defer client.Close()
		err = do(ctx, client)
	}
	if err != nil {
		k.tb.Fatalf("%s: %v", what, err)
	}
}
