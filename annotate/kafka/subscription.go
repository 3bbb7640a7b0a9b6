package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/internal/notify"
)

// joinPatience is how long a new subscription waits for its partitions, if it can open
// without them.
const joinPatience = 2 * time.Second

// errRebalancing is the fault of a member that has no partitions yet.
var errRebalancing = errors.New("the group waits for a member that may have crashed")

// subscription implements annotate.Subscription: a member of a consumer group.
type subscription struct {
	*endpoint
	group   string
	own     bool // no other subscription uses the group; Close deletes it
	place   *place
	window  int
	tx      *transaction // nil without transactions
	network *network
	client  sarama.Client // nil until open
	cluster coordinator
	members sarama.ConsumerGroup

	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	work    sync.WaitGroup
	joined  chan error    // the outcome of the first attempt to join
	arrived chan struct{} // wakes Receive
	room    chan struct{} // wakes enqueue

	closed     sync.Once
	closeErr   error
	reconnects atomic.Uint64

	mu      sync.Mutex
	paused  bool
	current *generation // nil between generations
	queue   []*inbound
	bytes   int    // of the messages in queue
	unacked int    // handed out in the current generation and not acknowledged
	trouble error  // why there is no generation
	faults  faults // errors of partitions
}

func newSubscription(e *endpoint, opts annotate.ConnectOptions, tx *transaction) *subscription {
	s := &subscription{
		endpoint: e,
		group:    e.settings.GroupID,
		window:   opts.MaxInFlight(),
		place:    newPlace(e.topic, opts.Member),
		tx:       tx,
		network:  e.newNetwork(),
		joined:   make(chan error, 1),
		arrived:  make(chan struct{}, 1),
		room:     make(chan struct{}, 1),
	}
	if s.group == "" {
		s.group, s.own = ownGroup(), true
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// open joins the group, once.
func (s *subscription) open(ctx context.Context) error {
	o := &s.broker.opts
	_, err := within(ctx, o.ConnectTimeout+o.RebalanceTimeout, s.network.abort, func() (struct{}, error) {
		var err error
		if s.client, err = sarama.NewClient(s.addresses(), s.consumerConfig(s.network, s.place.name)); err != nil {
			return struct{}{}, err
		}
		if s.members, err = sarama.NewConsumerGroupFromClient(s.group, s.client); err != nil {
			return struct{}{}, err
		}
		s.cluster = coordinator{client: s.client, group: s.group, topic: s.topic, static: s.place.name, stable: s.tx != nil}
		if _, err = s.cluster.fetchOffsets(); errors.Is(err, sarama.ErrGroupAuthorizationFailed) {
			return struct{}{}, err // joining takes longer to find that out
		}
		s.work.Go(s.run)
		s.work.Go(s.watch)
		s.work.Go(s.listen)
		return struct{}{}, s.first()
	})
	if err != nil {
		s.network.abort()
		s.shut()
	}
	return err
}

// first waits for the first generation. The cluster begins none while it waits for a crashed
// member, which may take longer than the caller has. An attempt that is given up leaves
// another dead member behind, for which the next attempt waits. So if the start offsets are
// known, and no message can be missed, the subscription opens without a generation, and is
// unhealthy until there is one.
func (s *subscription) first() error {
	late := time.NewTimer(joinPatience)
	defer late.Stop()
	select {
	case err := <-s.joined:
		return err
	case <-late.C:
	}
	if !s.settled() {
		return <-s.joined
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil && s.trouble == nil {
		s.trouble = unavailable(errRebalancing)
		s.broker.log.Info("waiting for the members of the group", "topic", s.topic, "group", s.group)
	}
	return nil
}

// settled reports whether the group has a start offset for every partition.
func (s *subscription) settled() bool {
	if s.settings.OffsetReset == Earliest {
		return true
	}
	offsets, err := s.cluster.fetchOffsets()
	return err == nil && len(offsets.metadata) == len(offsets.all)
}

// run joins the group each time a generation ends, until the subscription is closed.
func (s *subscription) run() {
	pause := s.broker.opts.pauses()
	for s.ctx.Err() == nil {
		began := time.Now()
		err := s.consume()
		if err != nil {
			s.report(err)
			select {
			case s.joined <- err:
			default:
			}
		}
		if errors.Is(err, sarama.ErrFencedInstancedId) {
			s.place.lose(fmt.Errorf("another process continues the subscription of topic %q in group %q: %w", s.topic, s.group, err))
			notify.Send(s.arrived)
			return
		}
		if err == nil && time.Since(began) > time.Second {
			pause.Reset()
			continue
		}
		if pause.Wait(s.ctx) != nil {
			return
		}
	}
}

// consume takes part in one generation. To join takes the place of a static member.
func (s *subscription) consume() error {
	if err := s.permitted(); err != nil {
		return err
	}
	if s.tx != nil {
		if err := s.tx.settled(s.ctx); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	return s.members.Consume(ctx, []string{s.topic}, &generation{sub: s, cancel: cancel})
}

// begin sets the current generation.
func (s *subscription) begin(next *generation) {
	s.place.take(next.member.MemberID())
	s.mu.Lock()
	s.current = next
	if s.trouble != nil {
		s.trouble = nil
		s.reconnects.Add(1)
		s.broker.log.Info("subscription is restored", "topic", s.topic, "group", s.group)
	}
	s.faults = faults{}
	s.mu.Unlock()
	s.broker.log.Debug("partitions assigned", "topic", s.topic, "group", s.group,
		"generation", next.member.GenerationID(), "partitions", len(next.partitions))
	select {
	case s.joined <- nil:
	default:
	}
}

// report records why there is no generation.
func (s *subscription) report(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reportLocked(err)
}

// reportAbsence records why there is no generation, unless there is one by now.
func (s *subscription) reportAbsence(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		s.reportLocked(why)
	}
}

func (s *subscription) reportLocked(err error) {
	if s.ctx.Err() != nil || err == nil {
		return
	}
	if s.trouble == nil {
		s.broker.log.Warn("subscription is interrupted", "topic", s.topic, "group", s.group, "error", err)
	}
	s.trouble = unavailable(err)
}

// lose ends a generation whose member may have been replaced. The messages that were handed
// out are revoked and delivered again.
func (s *subscription) lose(lost *generation, why error) {
	s.mu.Lock()
	if s.current != lost {
		s.mu.Unlock()
		return
	}
	s.reportLocked(why)
	s.mu.Unlock()
	if why != nil {
		s.network.reset()
	}
	s.end(lost)
	lost.cancel()
}

// end revokes the messages of a generation.
func (s *subscription) end(over *generation) {
	s.dropQueue()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range over.partitions {
		s.releaseLocked(p)
	}
	if s.current == over {
		s.current = nil
		s.unacked = 0
	}
	notify.Send(s.arrived)
}

// release revokes the messages of a partition that are left.
func (s *subscription) release(p *partition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.releaseLocked(p)
}

func (s *subscription) releaseLocked(p *partition) {
	if p.gone.Swap(true) {
		return
	}
	if s.tx != nil && s.trouble == nil && p.generation == s.current {
		// Acknowledged messages without an output, which no transaction has committed.
		if n := p.prefixLocked(dealtWith); n > 0 {
			p.position = p.handed[n-1].offset + 1
			p.markLocked()
		}
	}
	p.handed = nil
	notify.Send(p.settled)
}

// Health implements annotate.Subscription.
func (s *subscription) Health() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.trouble
	switch {
	case s.ctx.Err() != nil:
		return annotate.ErrBrokerClosed
	case err == nil:
		err = unavailable(s.faults.lasting(time.Now()))
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("subscription of topic %q in group %q: %w", s.topic, s.group, err)
}

// Reconnects returns the number of times that the subscription was lost and restored.
// Rebalances of the group do not count.
func (s *subscription) Reconnects() uint64 { return s.reconnects.Load() }

// Lag returns the number of unacknowledged messages in the partitions that are assigned to
// the subscription. The records by which Kafka ends transactions count as well. The lag is
// not known without a generation, and before the first fetch from a partition.
func (s *subscription) Lag() (messages int64, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return 0, false
	}
	for _, p := range s.current.partitions {
		end := p.highWater()
		if end < 0 {
			return 0, false
		}
		messages += max(0, end-p.position)
	}
	return messages, true
}

// Pause implements annotate.Subscription. Messages in the queue are dropped and delivered
// again.
func (s *subscription) Pause(context.Context) error {
	s.members.PauseAll()
	s.mu.Lock()
	s.paused = true
	notify.Send(s.arrived)
	s.mu.Unlock()
	s.dropQueue()
	return nil
}

// Close implements annotate.Subscription. It commits the acknowledgements and leaves the
// group.
func (s *subscription) Close(ctx context.Context) error {
	first := false
	s.closed.Do(func() {
		first = true
		_ = s.Pause(ctx)
		stop := context.AfterFunc(ctx, s.network.abort)
		s.shut()
		if !stop() {
			s.closeErr = fmt.Errorf("close subscription of topic %q in group %q: the last acknowledgements may be lost: %w",
				s.topic, s.group, ctx.Err())
		}
		s.network.abort()
		if s.own {
			if err := s.deleteGroup(ctx, s.group); err != nil {
				s.broker.log.Debug("group not deleted, it expires", "topic", s.topic, "group", s.group, "error", err)
			}
		}
	})
	if !first {
		return nil
	}
	return s.closeErr
}

// shut ends the goroutines and the client, and waits for them.
func (s *subscription) shut() {
	s.cancel()
	if s.members != nil {
		// The generation ends, and with it run.
		if err := s.members.Close(); err != nil {
			s.broker.log.Debug("leave of the group failed", "topic", s.topic, "group", s.group, "error", err)
		}
	}
	s.work.Wait()
	if s.client != nil {
		if err := s.place.leave(s.cluster); err != nil {
			s.broker.log.Debug("leave of the group failed", "topic", s.topic, "group", s.group, "error", err)
		}
		_ = s.client.Close()
		s.client.Config().MetricRegistry.UnregisterAll()
	}
}

// Forget implements annotate.Subscription. It deletes the group and its offsets, unless the
// group has other members: the last one deletes it.
func (s *subscription) Forget(ctx context.Context) error {
	if err := s.Close(ctx); err != nil || s.own {
		return err
	}
	return s.deleteGroup(ctx, s.group)
}
