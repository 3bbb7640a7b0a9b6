package session

import (
	"errors"
	"time"
)

// minStrikes is how often at least a message has to be alone under way when
// the broker closes the connection, before it is given up.
const minStrikes = 3

// suspicion finds the message for which a broker closes the connection time
// and again. MQTT 3.1.1 gives a broker no other way to refuse one (section
// 3.3.5), and some brokers of MQTT 5 take it too. Such a message would come
// back with each connection for ever and hold up what is behind it.
//
// When two connections in a row end without a confirmation between, messages
// are sent one by one, until as many are confirmed as were under way. One that
// was alone when the connection ended gets a strike, and is given up after
// minStrikes of them or more, over twice the longest pause between connections:
// a broker that is in trouble for a moment costs nothing. One that cannot be
// reached clears the strikes, because then it is not about a message.
type suspicion struct {
	oldest  *publication // the first one under way when the last connection ended
	careful int          // how many messages to send one by one
}

// allowed is how many messages may be under way. The caller holds p.mu.
func (p *Publisher) allowed(c *Connection) int {
	if p.careful > 0 {
		return 1
	}
	return c.terms.ReceiveMaximum
}

// suspect learns from the end of a connection.
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
