package mqtt3

import (
	"context"
	"fmt"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/mqtt/internal/session"
)

// Broker opens connections to MQTT 3.1.1 brokers. It holds no connection
// itself, needs no Close, and is safe for concurrent use.
type Broker struct {
	client session.Client
}

// New returns a Broker. It connects to nothing. The expiries of the
// configuration do not apply: sessions of MQTT 3.1.1 have none.
func New(config session.Config) *Broker {
	config.SessionExpiry, config.MemberExpiry = 0, 0
	return &Broker{client: session.Client{Config: &config, Version: version311{}}}
}

// Subscribe subscribes to a topic, which may hold wildcards and, with a broker
// that supports them, may be a shared subscription. Without a client identifier
// the session ends with Close.
func (b *Broker) Subscribe(
	ctx context.Context, topic session.Topic, opts annotate.ConnectOptions,
) (*session.Subscription, error) {
	if err := checkPassword(topic.Settings); err != nil {
		return nil, err
	}
	return b.client.Subscribe(ctx, topic, opts)
}

// Connect connects for publishing to a topic.
func (b *Broker) Connect(
	ctx context.Context, topic session.Topic, opts annotate.ConnectOptions,
) (*session.Publisher, error) {
	if err := checkPassword(topic.Settings); err != nil {
		return nil, err
	}
	return b.client.Connect(ctx, topic, opts)
}

// checkPassword refuses what only later versions have (MQTT 3.1.1 section
// 3.1.2.9).
func checkPassword(s session.Settings) error {
	if s.Password != "" && s.User == "" {
		return fmt.Errorf("mqttSettings.password is set without a user, which MQTT %s does not allow", session.Version311)
	}
	return nil
}
