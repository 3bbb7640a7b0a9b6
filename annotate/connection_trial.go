package annotate

import (
	"context"
	"fmt"
)

// TryConnection connects to the broker of a topic as a channel would, and disconnects, within
// ConnectTimeout. Settings that the topic leaves open are filled in. It takes no message and
// leaves nothing at the broker. A [*FieldError] is about the topic or its settings; other
// errors are those that starting a channel with the topic has.
func (e Environment) TryConnection(ctx context.Context, topic Topic, role TopicRole) error {
	e, err := e.Filled()
	if err != nil {
		return err
	}
	d := e.driver(topic.Broker)
	if d == nil {
		return &FieldError{"brokerType", noBroker(topic.Broker).Error()}
	}
	if d.OutputOnly && role != OutputTopic {
		return &FieldError{"brokerType", d.title() + " can only be the output of a channel"}
	}
	topic.Settings = d.Settings.Complete(topic.Settings, role, "trial")
	if err := d.Settings.Check(topic, role); err != nil {
		return err
	}
	if t, ok := d.Settings.(TrialDriver); ok {
		topic = t.Trial(topic, role)
	}
	connect, cancel := context.WithTimeout(ctx, e.ConnectTimeout)
	defer cancel()
	end := func(close func(context.Context) error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sideCloseTimeout)
		defer cancel()
		if err := close(ctx); err != nil {
			e.Logger.Debug("connection of a trial not closed", "topic", topic.Name, "error", err)
		}
	}
	if role == InputTopic {
		sub, err := d.Broker.Subscribe(connect, topic, ConnectOptions{Window: 1})
		if err != nil {
			return fmt.Errorf("try connection: %w", err)
		}
		end(sub.Forget)
		return nil
	}
	pub, err := d.Broker.Connect(connect, topic, ConnectOptions{Window: 1})
	if err != nil {
		return fmt.Errorf("try connection: %w", err)
	}
	end(pub.Close)
	return nil
}
