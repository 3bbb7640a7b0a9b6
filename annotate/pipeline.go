package annotate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// errAbandoned marks a message that stays unacknowledged, for the broker to
// deliver again.
var errAbandoned = errors.New("annotate: message given back to the broker")

// pipeline is one run of a channel, from the subscription to its end:
//
//	receive -> work (P mappers) -> publish, in order of arrival -> complete, in order of arrival
//
// The receiver puts every message in two queues: to the mappers, which take
// it when they are free, and to the publisher, which waits for the oldest one
// to be mapped. So mapping runs in parallel and the order of arrival is kept
// over all messages, which includes the order of each key. The completer
// waits for the oldest message to be confirmed and acknowledges it.
//
// All queues are bounded by the number of jobs, and the bytes by a budget: a
// broker that does not confirm delays the receiver, and so the input broker.
type pipeline struct {
	channel *Channel
	sub     Subscription
	out     Publisher
	errors  optional[errorTopic, *errorTopic]
	noteIn  optional[monitor, *monitor]
	noteOut optional[monitor, *monitor]

	free    chan *job // jobs not in use
	work    chan *job
	order   chan *job
	publish chan *job // published, in order
	bytes   *budget

	ctx      context.Context // ends when nothing more may be published
	cancel   context.CancelCauseFunc
	received chan struct{} // closed when the receiver has ended
	handed   chan struct{} // closed when the last output was handed to the publisher
	drained  chan struct{} // closed when the completer has ended
	stop     chan stopRequest
	finished chan struct{} // closed when everything has ended
	err      error         // why it ended by itself; read after finished
	left     int           // messages that were not acknowledged; read after drained
	workers  sync.WaitGroup

	failOnce sync.Once
	failure  error
}

type stopRequest struct {
	ctx    context.Context
	forget bool
}

func newPipeline(c *Channel) *pipeline {
	window := c.env.window(&c.config)
	p := &pipeline{
		channel:  c,
		free:     make(chan *job, window),
		work:     make(chan *job, c.config.Parallelism*c.config.BufferSize),
		order:    make(chan *job, window),
		publish:  make(chan *job, window),
		bytes:    newBudget(c.env.MaxBytesInFlight),
		received: make(chan struct{}),
		handed:   make(chan struct{}),
		drained:  make(chan struct{}),
		stop:     make(chan stopRequest),
		finished: make(chan struct{}),
	}
	for range window {
		p.free <- newJob()
	}
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	return p
}

// run starts the goroutines. supervise owns them.
func (p *pipeline) run() {
	go p.receive()
	for range p.channel.config.Parallelism {
		p.workers.Go(p.mapMessages)
	}
	go p.publishInOrder()
	go p.complete()
	go p.supervise()
}

// fail ends the pipeline for a reason that is not one message's.
func (p *pipeline) fail(err error) {
	p.failOnce.Do(func() { p.failure = err })
	p.cancel(err)
}

// receive receives messages until the subscription ends.
func (p *pipeline) receive() {
	defer close(p.received)
	defer close(p.order)
	defer close(p.work)
	counters := &p.channel.counters
	for {
		var j *job
		select {
		case j = <-p.free:
		case <-p.ctx.Done():
			return
		}
		delivery, err := p.sub.Receive(p.ctx)
		if err != nil {
			if p.ctx.Err() == nil {
				p.failOnce.Do(func() {
					p.failure = fmt.Errorf("receive from topic %q: %w", p.channel.config.Input.Name, err)
				})
			}
			return
		}
		counters.received.Add(1)
		counters.receivedBytes.Add(uint64(len(delivery.Payload)))
		j.delivery, j.held = delivery, len(delivery.Payload)+delivery.Trace.size()
		j.at, j.mapping = time.Now(), p.channel.mapping.Load()
		if p.bytes.take(p.ctx, j.held) != nil {
			return
		}
		p.startProcess(j)
		if note := p.noteIn.Load(); note != nil {
			note.note()
		}
		p.order <- j // has room for every job
		select {
		case p.work <- j:
		case <-p.ctx.Done():
			j.err = errAbandoned
			j.mapped <- struct{}{}
			return
		}
	}
}

// mapMessages is one worker.
func (p *pipeline) mapMessages() {
	w := &worker{pipeline: p}
	for j := range p.work {
		if p.ctx.Err() != nil {
			j.err = errAbandoned
		} else {
			p.traced(j, w.mapMessage)
		}
		grown := len(j.out)
		p.bytes.add(grown)
		j.held += grown
		j.mapped <- struct{}{}
	}
}

// publishInOrder hands the output of the oldest message to the publisher, or
// its failure to the error topic.
func (p *pipeline) publishInOrder() {
	defer close(p.handed)
	defer close(p.publish)
	for j := range p.order {
		<-j.mapped
		if err := p.permitted(); err != nil {
			p.fail(err)
		}
		switch {
		case j.err == errAbandoned || p.ctx.Err() != nil:
			j.confirmed(errAbandoned)
		case j.isRevoked():
			j.confirmed(ErrRevoked)
		case j.err != nil:
			p.reportInOrder(j, j.err)
		default:
			p.publishOutput(j)
		}
		p.publish <- j // has room for every job
	}
}

// publishOutput hands the output of a message to the publisher.
func (p *pipeline) publishOutput(j *job) {
	m := Message{
		Topic:   p.channel.config.Output.Name,
		Key:     p.channel.keyFor(j.delivery.Key),
		Payload: j.out,
		Trace:   p.startPublish(j, &p.channel.config.Output, len(j.out)),
		Origin:  j.delivery.Origin,
		ID:      p.channel.env.identify(&p.channel.config, &j.delivery.Message),
	}
	err := p.out.Publish(p.ctx, m, j.confirmed)
	switch {
	case err == nil:
	case p.transactional() && p.isRefusal(err):
		j.endPublish(err)
		p.reportInOrder(j, p.refused(err))
	default:
		j.confirmed(err)
	}
}

// reportInOrder reports a failure. In a transactional run the commit of a later
// output commits this message too, so it must be recorded and acknowledged
// before there is one.
func (p *pipeline) reportInOrder(j *job, cause error) {
	j.err = cause
	p.reportFailure(j, cause)
	if !p.transactional() {
		return
	}
	select {
	case err := <-j.settled:
		if err == nil {
			j.delivery.Ack()
			j.acked = true
		}
		j.settled <- err
	case <-p.ctx.Done(): // nothing is committed any more
	}
}

// transactional reports whether outputs and acknowledgements go together.
func (p *pipeline) transactional() bool { return p.channel.config.ExactlyOnce }

// isRefusal reports whether the broker will never take an output, for a reason
// that is this message's.
func (p *pipeline) isRefusal(err error) bool {
	return p.ctx.Err() == nil && !errors.Is(err, errAbandoned) && !errors.Is(err, ErrRevoked) &&
		!errors.Is(err, ErrBrokerClosed) && !errors.Is(err, ErrBrokerUnavailable) &&
		!errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

func (p *pipeline) refused(err error) error {
	return &failure{reason: fmt.Sprintf("publish to topic %q", p.channel.config.Output.Name), err: err}
}

// complete acknowledges messages in order of arrival. From the first one that
// must not be acknowledged on it acknowledges none.
func (p *pipeline) complete() {
	defer close(p.drained)
	for j := range p.publish {
		err := <-j.settled
		if err != nil && j.err == nil && p.isRefusal(err) {
			// The broker will never take this output: the message failed.
			j.err = p.refused(err)
			j.endPublish(err)
			p.reportFailure(j, j.err)
			err = <-j.settled
		}
		switch {
		case errors.Is(err, ErrRevoked):
			p.channel.counters.revoked.Add(1)
		case err != nil || p.left > 0:
			p.left++
			if err != errAbandoned && err != nil {
				p.fail(fmt.Errorf("publish to topic %q: %w", p.channel.config.Output.Name, err))
			}
		default:
			p.acknowledge(j)
		}
		j.endProcess(err)
		p.bytes.release(j.held)
		j.reset()
		p.free <- j
	}
}

// acknowledge counts a message that is complete, and then acknowledges it to the
// broker: an observer of the acknowledgement also sees the count.
func (p *pipeline) acknowledge(j *job) {
	counters := &p.channel.counters
	counters.latency.observe(time.Since(j.at))
	if j.err != nil {
		if !j.acked {
			j.delivery.Ack()
		}
		return
	}
	counters.published.Add(1)
	counters.publishedBytes.Add(uint64(len(j.out)))
	j.delivery.Ack()
	if note := p.noteOut.Load(); note != nil {
		note.note()
	}
}

// reportFailure records that a message failed, and settles the job when that is
// recorded: in the log, and on the error topic where that is on.
func (p *pipeline) reportFailure(j *job, cause error) {
	p.channel.recordFailure(j.delivery.Message, cause)
	if topic := p.errors.Load(); topic != nil {
		topic.report(p, j, cause)
		return
	}
	j.confirmed(nil)
}

// supervise waits for the end, whatever causes it, and closes everything.
func (p *pipeline) supervise() {
	req := stopRequest{}
	select {
	case req = <-p.stop:
	case <-p.received:
	case <-p.ctx.Done():
	}
	asked := req.ctx != nil
	if !asked {
		ctx, cancel := context.WithTimeout(context.Background(), p.channel.env.DrainTimeout)
		defer cancel()
		req.ctx = ctx
	}
	drain, cancelDrain := withReserve(req.ctx)
	defer cancelDrain()
	pauseErr := p.sub.Pause(drain)
	select {
	case <-p.drained:
	case <-drain.Done():
	case <-p.ctx.Done():
	}
	p.cancel(errAbandoned)
	<-p.handed
	closeErr := p.closeOutputs(req.ctx)
	<-p.drained
	var monitors sync.WaitGroup
	monitors.Go(func() { p.noteIn.end(req.ctx) })
	monitors.Go(func() { p.noteOut.end(req.ctx) })
	if req.forget {
		closeErr = errors.Join(closeErr, p.sub.Forget(req.ctx))
	} else {
		closeErr = errors.Join(closeErr, p.sub.Close(req.ctx))
	}
	monitors.Wait()
	p.workers.Wait()
	p.conclude(asked, errors.Join(pauseErr, closeErr))
	p.channel.ended(p, asked)
	close(p.finished)
}

// closeOutputs disconnects the publisher and the error topic. What is still
// unconfirmed now stays so: there is no time left to wait for it.
func (p *pipeline) closeOutputs(ctx context.Context) error {
	select {
	case <-p.drained:
	default:
		over, cancel := context.WithCancel(ctx)
		cancel()
		ctx = over
	}
	err := p.out.Close(ctx)
	p.errors.end(ctx)
	return err
}

// conclude decides what the end is called.
func (p *pipeline) conclude(asked bool, cleanup error) {
	switch {
	case !asked:
		p.err = p.failure
		if p.err == nil {
			p.err = ErrBrokerClosed
		}
	case p.left > 0:
		p.err = fmt.Errorf("messages not finished in time, to be delivered again: %d", p.left)
	}
	if cleanup != nil {
		p.channel.log.Debug("connections closed with errors", "error", cleanup)
	}
}

// withReserve returns a context that ends a little before ctx does, so that
// there is time left to flush acknowledgements and disconnect.
func withReserve(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	reserve := min(time.Until(deadline)/4, 2*time.Second)
	return context.WithDeadline(ctx, deadline.Add(-reserve))
}
