package kafka

import (
	"fmt"
	"sync"
)

// condition is the health of a publisher's connection.
type condition struct {
	to *endpoint

	lock sync.Mutex
	why  error // nil if the connection is healthy
}

// report records an error of the connection, or nil when it is healthy again.
func (c *condition) report(err error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	switch {
	case err != nil && c.why == nil:
		c.to.broker.log.Warn("connection for publishing is interrupted", "topic", c.to.topic, "error", err)
	case err == nil && c.why != nil:
		c.to.broker.log.Info("connection for publishing is restored", "topic", c.to.topic)
	}
	c.why = unavailable(err)
}

func (c *condition) health() error {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.why == nil {
		return nil
	}
	return fmt.Errorf("connection to topic %q: %w", c.to.topic, c.why)
}
