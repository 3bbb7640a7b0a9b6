package mqtt_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/mqtt"
)

var errNotNow = errors.New("another process may have it")

// permit permits until it is held.
type permit struct{ held atomic.Bool }

func (p *permit) options() annotate.ConnectOptions {
	return annotate.ConnectOptions{Permit: func() error {
		if p.held.Load() {
			return errNotNow
		}
		return nil
	}}
}

// subscriber is a peer that grants subscriptions.
func subscriber() *peer {
	return &peer{answer: func(conn net.Conn, packet *packets.ControlPacket) { grant(conn, packet, 1) }}
}

// A process that stood still does not take its session back from the one that continues it.
func TestBroker_withoutPermit_reconnectsNothing(t *testing.T) {
	type connection interface {
		Health() error
		Close(context.Context) error
	}
	for name, open := range map[string]func(context.Context, *mqtt.Broker, annotate.Topic, annotate.ConnectOptions) (connection, error){
		"subscription": func(
			ctx context.Context, b *mqtt.Broker, topic annotate.Topic, opts annotate.ConnectOptions) (connection, error,
		) {
			return b.Subscribe(ctx, topic, opts)
		},
		"publisher": func(
			ctx context.Context, b *mqtt.Broker, topic annotate.Topic, opts annotate.ConnectOptions) (connection, error,
		) {
			return b.Connect(ctx, topic, opts)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := subscriber()
				var newest atomic.Pointer[net.Conn]
				b := mqtt.New(&mqtt.Options{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
					conn, err := p.pipe(ctx, network, address)
					newest.Store(&conn)
					return conn, err
				}})
				var may permit
				c, err := open(t.Context(), b, nowhere("t"), may.options())
				require.NoError(t, err)
				may.held.Store(true)
				require.NoError(t, (*newest.Load()).Close())
				time.Sleep(time.Minute)
				require.Nil(t, p.connect(1))
				require.ErrorIs(t, c.Health(), errNotNow)
				may.held.Store(false)
				time.Sleep(time.Minute)
				require.NotNil(t, p.connect(1))
				require.NoError(t, c.Health())
				require.NoError(t, c.Close(t.Context()))
			})
		})
	}
}

func TestBroker_permitThatEndsWhileDialing_sendsNoConnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := subscriber()
		var may permit
		b := mqtt.New(&mqtt.Options{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			may.held.Store(true)
			return p.pipe(ctx, network, address)
		}})
		_, err := b.Connect(t.Context(), nowhere("t"), may.options())
		require.ErrorIs(t, err, errNotNow)
		require.Nil(t, p.connect(0))
	})
}

func TestBroker_Subscribe_forgetsNothingWithoutPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := subscriber()
		var may permit
		s, err := mqtt.New(&mqtt.Options{Dial: p.pipe}).Subscribe(t.Context(), nowhere("t"), may.options())
		require.NoError(t, err)
		may.held.Store(true)
		require.ErrorIs(t, s.Forget(t.Context()), errNotNow)
		require.Nil(t, p.connect(1))
	})
}
