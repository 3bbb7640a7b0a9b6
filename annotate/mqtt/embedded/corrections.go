package embedded

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"
)

// patience is how long publishers wait for a session to go over at most.
const patience = time.Second

// corrections admits every client and keeps mochi-mqtt 2.7.9 from five faults.
//
// A message that was held back because the client's Receive Maximum was reached
// is not counted when it is acknowledged, so that the quota shrinks
// permanently; and looking for such messages locks a mutex for reading twice,
// which stands still forever when a writer comes between. Clients are therefore
// treated as if they had named no Receive Maximum.
//
// What waits in a session is sent in the order of the lowest 16 bits of its
// time of creation in seconds, which is the same for many messages. The
// messages are therefore numbered through that time.
//
// A message is confirmed before it is given to the sessions of its
// subscribers. It is therefore given to them here, which comes first.
//
// A message that comes while a session goes over from one connection to the
// next may go to the old one's copy and be lost with it, or overtake those
// that are sent again. Messages therefore wait meanwhile, though not longer
// than a client that does not read may make them.
//
// The end of a session that ends with its connection removes whatever the
// client identifier has at that time, which may be the next connection and its
// subscriptions. No session goes over meanwhile.
type corrections struct {
	mochi.HookBase
	server *mochi.Server
	local  *mochi.Client
	next   atomic.Int64

	sessions sync.RWMutex                 // locked while a session goes over, or ends
	taker    atomic.Pointer[mochi.Client] // who has locked it
}

func newCorrections(server *mochi.Server) *corrections {
	h := &corrections{
		server: server,
		local:  server.NewClient(nil, mochi.LocalListener, "embedded", true),
	}
	// A time in the future whose lowest 16 bits are zero: nothing expires.
	h.next.Store((time.Now().Unix()>>16 + 1) << 16)
	return h
}

// ID implements mochi.Hook.
func (h *corrections) ID() string { return "corrections" }

// Provides implements mochi.Hook.
func (h *corrections) Provides(event byte) bool {
	switch event {
	case mochi.OnConnect, mochi.OnConnectAuthenticate, mochi.OnACLCheck, mochi.OnPublish,
		mochi.OnSessionEstablish, mochi.OnSessionEstablished, mochi.OnDisconnect:
		return true
	}
	return false
}

// OnConnect implements mochi.Hook.
func (h *corrections) OnConnect(client *mochi.Client, _ packets.Packet) error {
	client.Properties.Props.ReceiveMaximum = 0
	client.State.Inflight.ResetSendQuota(0)
	return nil
}

// OnConnectAuthenticate implements mochi.Hook.
func (h *corrections) OnConnectAuthenticate(*mochi.Client, packets.Packet) bool { return true }

// OnACLCheck implements mochi.Hook.
func (h *corrections) OnACLCheck(*mochi.Client, string, bool) bool { return true }

// OnPublish implements mochi.Hook. With QoS 0 there is no confirmation that
// could come too early.
func (h *corrections) OnPublish(client *mochi.Client, p packets.Packet) (packets.Packet, error) {
	p.Created = h.next.Add(1)
	if client.Net.Inline || p.FixedHeader.Qos == 0 {
		return p, nil
	}
	h.sessions.RLock()
	defer h.sessions.RUnlock()
	own := p
	own.Properties.TopicAlias, own.Properties.TopicAliasFlag = 0, false // resolved by now
	if err := h.server.InjectPacket(h.local, own); err != nil {
		return p, err
	}
	return p, packets.CodeSuccessIgnore
}

// OnSessionEstablish implements mochi.Hook: the session goes over next.
func (h *corrections) OnSessionEstablish(client *mochi.Client, _ packets.Packet) {
	h.going(client)
}

// OnDisconnect implements mochi.Hook: a session that expires ends next, and
// has ended when the listener is done with the connection. When the server is
// about to end, this is called once more, before anything happens.
func (h *corrections) OnDisconnect(client *mochi.Client, err error, expires bool) {
	if expires && !client.Net.Inline && !errors.Is(err, packets.ErrServerShuttingDown) {
		h.going(client)
	}
}

// going locks the sessions.
func (h *corrections) going(client *mochi.Client) {
	h.sessions.Lock()
	h.taker.Store(client)
	time.AfterFunc(patience, func() { h.gone(client) })
}

// OnSessionEstablished implements mochi.Hook: the session has gone over, and
// what waited in it was sent.
func (h *corrections) OnSessionEstablished(client *mochi.Client, _ packets.Packet) {
	h.gone(client)
}

// gone ends what going began.
func (h *corrections) gone(client *mochi.Client) {
	if h.taker.CompareAndSwap(client, nil) {
		h.sessions.Unlock()
	}
}

// entrance is the listener. It sees to it that a connection which ends too
// early does not keep the sessions locked.
type entrance struct {
	*listeners.Net
	fixes *corrections
}

// Serve implements listeners.Listener.
func (e *entrance) Serve(establish listeners.EstablishFn) {
	e.Net.Serve(func(id string, conn net.Conn) error {
		defer func() {
			if taker := e.fixes.taker.Load(); taker != nil && taker.Net.Conn == conn {
				e.fixes.gone(taker)
			}
		}()
		return establish(id, conn)
	})
}

// Close implements listeners.Listener. It disconnects the clients itself: the
// library would take a read lock twice for that, and wait forever when a client
// leaves in between.
func (e *entrance) Close(listeners.CloseFn) {
	e.Net.Close(func(id string) {
		for _, client := range e.fixes.server.Clients.GetAll() {
			if client.Net.Listener == id && !client.Closed() {
				_ = e.fixes.server.DisconnectClient(client, packets.ErrServerShuttingDown) // it may be gone
			}
		}
	})
}
