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

// joinPatience is how long a new subscription waits for its partitions, if it
// can be without them.
const joinPatience = 2 * time.Second

// errRebalancing is the trouble of a member that has no partitions yet.
var errRebalancing = errors.New("the group waits for its members, of which one may have died")

// subscription implements annotate.Subscription: a member of a consumer group.
type subscription struct {
	*endpoint
	group   string
	own     bool // the group is this subscription's alone, and is removed with it
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
	arrived chan struct{} // something changed for Receive to look at
	room    chan struct{} // something changed for enqueue to look at

	closed     sync.Once
	closeErr   error
	reconnects atomic.Uint64

	mu      sync.Mutex
	paused  bool
	current *session // nil while there is none
	queue   []*inbound
	bytes   int    // of the payloads in queue
	unacked int    // handed out in the current session and not acknowledged
	trouble error  // why there is no session, once there was one
	faults  faults // trouble with partitions
}

func newSubscription(e *endpoint, window int, tx *transaction) *subscription {
	s := &subscription{
		endpoint: e,
		group:    e.settings.GroupID,
		window:   window,
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
		if s.client, err = sarama.NewClient(s.addresses(), s.consumerConfig(s.network)); err != nil {
			return struct{}{}, err
		}
		if s.members, err = sarama.NewConsumerGroupFromClient(s.group, s.client); err != nil {
			return struct{}{}, err
		}
		s.cluster = coordinator{client: s.client, group: s.group, topic: s.topic, stable: s.tx != nil}
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

// first waits for the first session. The cluster begins none while it waits for
// a member that has died, and that may take longer than the caller has time.
// To give up would leave another dead member behind, to be waited for by the
// next attempt. So where nothing can be missed meanwhile, because it is settled
// from where the group reads, the subscription is open without a session, and
// in trouble until there is one.
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

// settled reports whether it is certain from where the group reads.
func (s *subscription) settled() bool {
	if s.settings.OffsetReset == Earliest {
		return true
	}
	offsets, err := s.cluster.fetchOffsets()
	return err == nil && len(offsets.metadata) == len(offsets.all)
}

// run joins the group, again and again, until the subscription is closed.
func (s *subscription) run() {
	pause := newPause(&s.broker.opts)
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
		if err == nil && time.Since(began) > time.Second {
			pause.reset()
			continue
		}
		if !pause.wait(s.ctx) {
			return
		}
	}
}

// consume takes part in one session.
func (s *subscription) consume() error {
	if s.tx != nil {
		if err := s.tx.settled(s.ctx); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	return s.members.Consume(ctx, []string{s.topic}, &session{sub: s, cancel: cancel})
}

// begin makes a session the current one.
func (s *subscription) begin(next *session) {
	s.mu.Lock()
	s.current = next
	if s.trouble != nil {
		s.trouble = nil
		s.reconnects.Add(1)
		s.broker.log.Info("subscription is back", "topic", s.topic, "group", s.group)
	}
	s.faults = faults{}
	s.mu.Unlock()
	s.broker.log.Debug("partitions assigned", "topic", s.topic, "group", s.group,
		"generation", next.member.GenerationID(), "partitions", len(next.claims))
	select {
	case s.joined <- nil:
	default:
	}
}

// report notes why there is no session.
func (s *subscription) report(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reportLocked(err)
}

// reportAbsence notes why there is no session, unless there is one by now: it
// would not end the trouble.
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

// lose ends a session whose member may have been replaced by now: what was
// handed out is void from here on, and comes again.
func (s *subscription) lose(lost *session, why error) {
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

// end makes everything of a session void.
func (s *subscription) end(over *session) {
	s.dropQueue()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range over.claims {
		s.releaseLocked(c)
	}
	if s.current == over {
		s.current = nil
		s.unacked = 0
	}
	notify.Send(s.arrived)
}

// release makes what is left of a partition void.
func (s *subscription) release(c *claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.releaseLocked(c)
}

func (s *subscription) releaseLocked(c *claim) {
	if c.gone.Swap(true) {
		return
	}
	if s.tx != nil && s.trouble == nil && c.session == s.current {
		// Messages without an output that no transaction has taken along.
		if n := c.prefix(dealtWith); n > 0 {
			c.position = c.handed[n-1].offset + 1
			c.mark()
		}
	}
	c.handed = nil
	notify.Send(c.settled)
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

// Reconnects is the number of times that the subscription was lost and found
// again. Rebalances of the group do not count.
func (s *subscription) Reconnects() uint64 { return s.reconnects.Load() }

// Lag is the number of messages that the cluster has for this subscription and
// that were not acknowledged, in the partitions that it has now. The records
// by which Kafka ends transactions count as well. It is not known while there
// is no session, or a partition was not yet asked for.
func (s *subscription) Lag() (messages int64, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return 0, false
	}
	for _, c := range s.current.claims {
		end := c.highWater()
		if end < 0 {
			return 0, false
		}
		messages += max(0, end-c.position)
	}
	return messages, true
}

// Pause implements annotate.Subscription. What has arrived and was not handed
// out comes again.
func (s *subscription) Pause(context.Context) error {
	s.members.PauseAll()
	s.mu.Lock()
	s.paused = true
	notify.Send(s.arrived)
	s.mu.Unlock()
	s.dropQueue()
	return nil
}

// Close implements annotate.Subscription: it commits what was acknowledged and
// leaves the group.
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
				s.broker.log.Debug("group left to expire", "topic", s.topic, "group", s.group, "error", err)
			}
		}
	})
	if !first {
		return nil
	}
	return s.closeErr
}

// shut ends everything, and waits for it.
func (s *subscription) shut() {
	s.cancel()
	if s.members != nil {
		// It makes the session end, and with it run.
		if err := s.members.Close(); err != nil {
			s.broker.log.Debug("group not left in order", "topic", s.topic, "group", s.group, "error", err)
		}
	}
	s.work.Wait()
	if s.client != nil {
		_ = s.client.Close()
		s.client.Config().MetricRegistry.UnregisterAll()
	}
}

// Forget implements annotate.Subscription: the cluster forgets the group, and
// its offsets with it. While other members are in the group it stays, for the
// last of them to remove.
func (s *subscription) Forget(ctx context.Context) error {
	if err := s.Close(ctx); err != nil || s.own {
		return err
	}
	return s.deleteGroup(ctx, s.group)
}
