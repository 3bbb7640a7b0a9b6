package kafka

import (
	"context"
	"errors"
	"time"

	"github.com/IBM/sarama"
)

// generation is one generation of the consumer group: from the assignment of partitions to
// their release. It implements sarama.ConsumerGroupHandler.
type generation struct {
	sub        *subscription
	member     sarama.ConsumerGroupSession
	cancel     context.CancelFunc // ends the generation
	metadata   string             // of every offset that is committed
	partitions map[int32]*partition
	deadline   time.Time // for messages in process, once partitions are revoked
}

// Setup implements sarama.ConsumerGroupHandler. The client calls it when the partitions are
// assigned, before it fetches from them.
func (g *generation) Setup(member sarama.ConsumerGroupSession) error {
	g.member = member
	numbers := member.Claims()[g.sub.topic]
	starts, err := g.settle(numbers)
	if err != nil {
		return err
	}
	g.partitions = make(map[int32]*partition, len(numbers))
	for _, number := range numbers {
		g.partitions[number] = &partition{
			generation: g,
			number:     number,
			position:   starts[number],
			highWater:  func() int64 { return -1 },
			settled:    make(chan struct{}, 1),
		}
	}
	g.sub.begin(g)
	return nil
}

// ConsumeClaim implements sarama.ConsumerGroupHandler. It puts the messages of a partition
// into the queue until the partition is revoked.
func (g *generation) ConsumeClaim(member sarama.ConsumerGroupSession, source sarama.ConsumerGroupClaim) error {
	p := g.partitions[source.Partition()]
	g.sub.mu.Lock()
	p.highWater = source.HighWaterMarkOffset
	g.sub.mu.Unlock()
	g.intake(member.Context(), p, source.Messages())
	g.drain(member.Context(), p)
	return nil
}

func (g *generation) intake(ctx context.Context, p *partition, messages <-chan *sarama.ConsumerMessage) {
	for {
		select {
		case m, ok := <-messages:
			if !ok || !g.sub.enqueue(ctx, p, m) {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// drain waits until the messages of a revoked partition that are in process are
// acknowledged, so that the next owner starts after them.
func (g *generation) drain(ctx context.Context, p *partition) {
	g.sub.dropQueue()
	if !revoked(ctx) {
		g.sub.release(p)
		return
	}
	g.sub.mu.Lock()
	if g.deadline.IsZero() {
		g.deadline = time.Now().Add(g.sub.broker.opts.RebalanceTimeout * 3 / 4)
	}
	timer := time.NewTimer(time.Until(g.deadline))
	g.sub.mu.Unlock()
	defer timer.Stop()
	for g.sub.busy(p) {
		select {
		case <-p.settled:
		case <-timer.C:
			g.sub.broker.log.Warn("partition released with messages in process",
				"topic", g.sub.topic, "group", g.sub.group, "partition", p.number)
			g.sub.release(p)
			return
		case <-g.sub.ctx.Done():
			g.sub.release(p)
			return
		}
	}
	g.sub.release(p)
}

// revoked reports whether the generation ends because the group rebalances. Otherwise the
// partitions are already lost, or kept until the subscription is closed, and there is
// nothing to wait for.
func revoked(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, sarama.ErrRebalanceInProgress) || errors.Is(cause, sarama.ErrSessionPartitionCountChanged)
}

// Cleanup implements sarama.ConsumerGroupHandler. The client calls it when all partitions
// are released, before the last commit.
func (g *generation) Cleanup(sarama.ConsumerGroupSession) error {
	g.sub.end(g)
	return nil
}
