package kafka

import (
	"context"

	"github.com/iotenablers/enablers/annotate"
)

// SubscribeBusy subscribes as a part of a transaction that never ends. The
// function that it returns joins the group again.
func SubscribeBusy(ctx context.Context, b *Broker, topic annotate.Topic) (annotate.Subscription, func(), error) {
	e, err := b.endpoint(topic)
	if err != nil {
		return nil, nil, err
	}
	busy := newTransaction(e, facts{}, annotate.DefaultWindow, "busy")
	s := newSubscription(e, annotate.ConnectOptions{}, busy)
	go func() { close(<-busy.rejoins) }() // the first time only
	return s, s.startOver, s.open(ctx)
}
