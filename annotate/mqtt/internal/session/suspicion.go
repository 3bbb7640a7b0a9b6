package session

import (
	"errors"
	"time"
)

// minStrikes is the minimum number of connections that the broker closes while the same
// message alone is in flight, before the message fails.
const minStrikes = 3

// suspicion finds a message for which a broker closes each connection. MQTT 3.1.1 gives a
// broker no other way to refuse a message (section 3.3.5), and some brokers of MQTT 5 use it
// too. Such a message would be sent on each connection again and block those after it.
//
// When two connections in a row end without a confirmation, messages are sent one by one,
// until as many are confirmed as were in flight. A message that was alone in flight when the
// connection ended gets a strike. It fails after minStrikes or more, over at least twice the
// longest pause between connections, so that a short outage of the broker fails no message.
// A broker that cannot be reached clears the strikes: the message is not the cause.
type suspicion struct {
	oldest  *publication // the oldest in flight when the last connection ended
	careful int          // how many messages to send one by one
}

// allowed returns the number of messages that may be in flight. The caller holds p.mu.
func (p *Publisher) allowed(c *Connection) int {
	if p.careful > 0 {
		return 1
	}
	return c.terms.ReceiveMaximum
}

// suspect evaluates the end of a connection.
func (p *Publisher) suspect(c *Connection) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != c || !c.ended().blaming || p.inFlight == 0 {
		return
	}
	var first *publication
	for _, m := range p.messages {
		if !m.answered {
			first = m
			break
		}
	}
	if first == p.oldest {
		p.careful = max(p.careful, p.inFlight)
	}
	p.oldest = first
	if p.inFlight > 1 {
		return
	}
	if first.strikes++; first.strikes == 1 {
		first.struck = time.Now()
	}
	if first.strikes < minStrikes || time.Since(first.struck) < 2*p.Config.ReconnectMax {
		return
	}
	first.answered = true
	first.err = errors.New("the broker closed the connection each time it was sent; " +
		"it may not allow this user to publish on the topic, or not take a message like this: " + c.ended().cause.Error())
}

// unreachable implements traffic.
func (p *Publisher) unreachable() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.oldest != nil {
		p.oldest.strikes = 0
	}
	p.oldest, p.careful = nil, 0
}
