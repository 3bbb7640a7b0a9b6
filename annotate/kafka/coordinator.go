package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/IBM/sarama"
)

// coordinator sends requests about a consumer group and its topic to the broker that
// coordinates the group.
type coordinator struct {
	client sarama.Client
	group  string
	topic  string
	static string // the name of a static member, or empty
	stable bool   // offsets of open transactions are waited for (KIP-447)
}

// offsets returns the committed offsets of the topic.
func (c coordinator) offsets() (groupOffsets, error) {
	offsets, err := c.fetchOffsets()
	if errors.Is(err, sarama.ErrNotCoordinatorForConsumer) {
		if err = c.client.RefreshCoordinator(c.group); err == nil {
			offsets, err = c.fetchOffsets()
		}
	}
	if err != nil {
		return offsets, fmt.Errorf("fetch the offsets of group %q: %w", c.group, err)
	}
	return offsets, nil
}

func (c coordinator) fetchOffsets() (groupOffsets, error) {
	none := groupOffsets{}
	partitions, err := c.client.Partitions(c.topic)
	if err != nil {
		return none, err
	}
	broker, err := c.client.Coordinator(c.group)
	if err != nil {
		return none, err
	}
	request := sarama.NewOffsetFetchRequest(c.client.Config().Version, c.group, map[string][]int32{c.topic: partitions})
	request.RequireStable = request.Version >= 7 && c.stable
	response, err := broker.FetchOffset(request)
	if err != nil {
		return none, err
	}
	if response.Err != sarama.ErrNoError {
		return none, response.Err
	}
	offsets := groupOffsets{all: make(map[int32]int64, len(partitions))}
	for _, partition := range partitions {
		block := response.GetBlock(c.topic, partition)
		switch {
		case block == nil:
			return none, sarama.ErrIncompleteResponse
		case block.Err != sarama.ErrNoError:
			return none, block.Err
		}
		offsets.all[partition] = block.Offset
		if block.Offset >= 0 {
			offsets.metadata = append(offsets.metadata, block.Metadata)
		}
	}
	return offsets, nil
}

// alive sends a heartbeat of a member, and reports whether the group still has the member.
// It tries twice: the coordinator may have moved, or closed an idle connection.
func (c coordinator) alive(member sarama.ConsumerGroupSession) (bool, error) {
	alive, err := c.heartbeat(member)
	if err == nil {
		return alive, nil
	}
	if err := c.client.RefreshCoordinator(c.group); err != nil {
		return false, err
	}
	return c.heartbeat(member)
}

func (c coordinator) heartbeat(member sarama.ConsumerGroupSession) (alive bool, err error) {
	broker, err := c.client.Coordinator(c.group)
	if err != nil {
		return false, err
	}
	request := &sarama.HeartbeatRequest{
		Version:      3,
		GroupId:      c.group,
		MemberId:     member.MemberID(),
		GenerationId: member.GenerationID(),
	}
	if c.static != "" {
		request.GroupInstanceId = &c.static
	}
	response, err := broker.Heartbeat(request)
	if err != nil {
		_ = broker.Close() // the next request opens it again
		return false, err
	}
	switch response.Err {
	case sarama.ErrNoError, sarama.ErrRebalanceInProgress:
		return true, nil
	case sarama.ErrUnknownMemberId, sarama.ErrIllegalGeneration, sarama.ErrFencedInstancedId:
		return false, nil // the group removed the member, which has to join again
	}
	return false, response.Err
}

// deleteGroup deletes a consumer group with its offsets. It does nothing if the group has
// members, or does not exist.
func (e *endpoint) deleteGroup(ctx context.Context, group string) error {
	n := e.newNetwork()
	defer n.abort()
	_, err := within(ctx, e.broker.opts.ConnectTimeout, n.abort, func() (struct{}, error) {
		client, err := sarama.NewClient(e.addresses(), e.config(n))
		if err != nil {
			return struct{}{}, err
		}
		defer client.Close()
		broker, err := client.Coordinator(group)
		if err != nil {
			return struct{}{}, err
		}
		request := &sarama.DeleteGroupsRequest{Version: 1}
		request.AddGroup(group)
		response, err := broker.DeleteGroups(request)
		if err == nil && response.GroupErrorCodes[group] != sarama.ErrNoError {
			err = response.GroupErrorCodes[group]
		}
		return struct{}{}, err
	})
	if err == nil || errors.Is(err, sarama.ErrGroupIDNotFound) || errors.Is(err, sarama.ErrNonEmptyGroup) {
		return nil
	}
	return fmt.Errorf("forget group %q of topic %q: %w", group, e.topic, err)
}
