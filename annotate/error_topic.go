package annotate

import (
	"context"
	"sync"
)

// errorTopic publishes a text for each message that failed. It never drops one
// while it is on: a broker that does not confirm delays the channel.
type errorTopic struct {
	topic  string
	pub    Publisher
	format ErrorFormat

	ctx    context.Context // ends when the topic is switched off
	cancel context.CancelFunc
	mu     sync.Mutex // Publish is for one goroutine at a time
}

func newErrorTopic(topic string, pub Publisher, format ErrorFormat) *errorTopic {
	t := &errorTopic{topic: topic, pub: pub, format: format}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	return t
}

// report publishes why the job's message failed and settles the job when the
// broker has confirmed that. When it never will, or when the topic is
// switched off meanwhile, the log has to do. A pipeline that ends first gives
// the message back.
func (t *errorTopic) report(p *pipeline, j *job, cause error) {
	settle := func(err error) {
		switch {
		case err == nil:
			j.confirmed(nil)
		case p.ctx.Err() != nil:
			j.confirmed(errAbandoned)
		default:
			p.channel.log.Error("error message not published", "topic", t.topic, "error", err)
			j.confirmed(nil)
		}
	}
	m := Message{
		Topic:   t.topic,
		Key:     p.channel.keyFor(j.delivery.Key),
		Payload: p.channel.failureMessage(t.format, j.delivery.Message, cause),
	}
	m.Trace = p.startPublish(j, p.channel.config.Error, len(m.Payload))
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	defer context.AfterFunc(t.ctx, cancel)()
	t.mu.Lock()
	err := t.pub.Publish(ctx, m, settle)
	t.mu.Unlock()
	if err != nil {
		settle(err)
	}
}

func (t *errorTopic) close(ctx context.Context) {
	t.cancel()
	t.mu.Lock() // no call of Publish is running any more
	defer t.mu.Unlock()
	// What it says was already said to each message's settle.
	_ = t.pub.Close(ctx)
}
