package kafka

import (
	"context"
	"errors"
	"time"

	"github.com/IBM/sarama"
)

// session is one generation of the group: from the assignment of partitions to
// the moment they are given back. It implements sarama.ConsumerGroupHandler.
type session struct {
	sub      *subscription
	member   sarama.ConsumerGroupSession
	cancel   context.CancelFunc
	metadata string // goes with every offset that is committed
	claims   map[int32]*claim
	deadline time.Time // of what was handed out, once partitions are revoked
}

// Setup is called when the partitions are known and nothing is fetched yet.
func (s *session) Setup(member sarama.ConsumerGroupSession) error {
	s.member = member
	partitions := member.Claims()[s.sub.topic]
	starts, err := s.settle(partitions)
	if err != nil {
		return err
	}
	s.claims = make(map[int32]*claim, len(partitions))
	for _, partition := range partitions {
		s.claims[partition] = &claim{
			session:   s,
			partition: partition,
			position:  starts[partition],
			highWater: func() int64 { return -1 },
			settled:   make(chan struct{}, 1),
		}
	}
	s.sub.begin(s)
	return nil
}

// ConsumeClaim takes in the messages of a partition until it is revoked.
func (s *session) ConsumeClaim(member sarama.ConsumerGroupSession, source sarama.ConsumerGroupClaim) error {
	c := s.claims[source.Partition()]
	s.sub.mu.Lock()
	c.highWater = source.HighWaterMarkOffset
	s.sub.mu.Unlock()
	s.intake(member.Context(), c, source.Messages())
	s.drain(member.Context(), c)
	return nil
}

func (s *session) intake(ctx context.Context, c *claim, messages <-chan *sarama.ConsumerMessage) {
	for {
		select {
		case m, ok := <-messages:
			if !ok || !s.sub.enqueue(ctx, c, m) {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// drain waits until what was handed out of a revoked partition is dealt with,
// so that the next owner starts behind it.
func (s *session) drain(ctx context.Context, c *claim) {
	s.sub.dropQueue()
	if !revoked(ctx) {
		s.sub.release(c)
		return
	}
	s.sub.mu.Lock()
	if s.deadline.IsZero() {
		s.deadline = time.Now().Add(s.sub.broker.opts.RebalanceTimeout * 3 / 4)
	}
	timer := time.NewTimer(time.Until(s.deadline))
	s.sub.mu.Unlock()
	defer timer.Stop()
	for s.sub.busy(c) {
		select {
		case <-c.settled:
		case <-timer.C:
			s.sub.broker.log.Warn("partition given back with messages that are not finished",
				"topic", s.sub.topic, "group", s.sub.group, "partition", c.partition)
			s.sub.release(c)
			return
		case <-s.sub.ctx.Done():
			s.sub.release(c)
			return
		}
	}
	s.sub.release(c)
}

// revoked reports whether the session ends because the group shares out its
// partitions anew. Otherwise the partitions are lost already, or kept until the
// subscription is closed, and there is nothing to wait for.
func revoked(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, sarama.ErrRebalanceInProgress) || errors.Is(cause, sarama.ErrSessionPartitionCountChanged)
}

// Cleanup is called when all partitions are released, before the last commit.
func (s *session) Cleanup(sarama.ConsumerGroupSession) error {
	s.sub.end(s)
	return nil
}
